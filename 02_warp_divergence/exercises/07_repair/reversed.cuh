// Exercise 02/repair: parts of an array turned around, and the negative elements counted.
#pragma once

#include <cuda_runtime.h>

constexpr int kBlock = 64;

// Each block's part of x, 64 elements and fewer in the last block, is turned around into y:
// y[begin + j] = x[begin + length - 1 - j]. negatives[w] is the number of negative elements among
// x[32 w] to x[32 w + 31], where elements past n do not count. All pointers point to device memory.
__global__ void reverse_kernel(const float* x, float* y, int* negatives, int n) {
  __shared__ float part[kBlock];
  const int begin = blockIdx.x * kBlock;
  const int length = min(kBlock, n - begin);
  const int t = threadIdx.x, lane = t % 32;
  //@ task 1: something is wrong with the way through shared memory
  //@ hint: which threads of the last block come to the barrier?
  //@ hint: every thread of the block must pass the barrier: split the branch in two around it
  //@ instead: if (t < length) {
  //@ instead:   part[t] = x[begin + t];
  //@ instead:   __syncthreads();
  //@ instead:   y[begin + t] = part[length - 1 - t];
  //@ instead: }
  //@ begin
  if (t < length) part[t] = x[begin + t];
  __syncthreads();
  if (t < length) y[begin + t] = part[length - 1 - t];
  //@ end
  //@ task 2: something is wrong with the vote
  //@ hint: the mask names all 32 lanes: all of them must come, those past n too
  //@ hint: take the vote out of the branch; a lane past n says no
  //@ instead: unsigned votes = 0;
  //@ instead: if (t < length) votes = __ballot_sync(0xFFFFFFFF, part[t] < 0);
  //@ begin
  const unsigned votes = __ballot_sync(0xFFFFFFFF, t < length && part[t] < 0);
  //@ end
  //@ task 3: something is wrong with who writes the count, and where
  //@ hint: a block has two warps, and each has a count of its own
  //@ hint: lane 0 of each warp writes; the warp's number in the grid is (begin + t) / 32
  //@ hint: the last warp may have no element at all: then it has no count to write
  //@ instead: if (t == 0) negatives[blockIdx.x] = __popc(votes);
  //@ begin
  if (lane == 0 && t < length) negatives[(begin + t) / 32] = __popc(votes);
  //@ end
}

inline void reverse(const float* x, float* y, int* negatives, int n) {
  reverse_kernel<<<(n + kBlock - 1) / kBlock, kBlock>>>(x, y, negatives, n);
}
