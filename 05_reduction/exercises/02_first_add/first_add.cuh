// Exercise 05/first_add: two elements a thread, added while they are loaded.
#pragma once

#include <cuda_runtime.h>

constexpr int kBlock = 256;

// sums[b] = the sum of the 512 elements from x[512 b] on, where what lies past x's n elements
// counts as 0. The grid has a block for each 512 elements or part of them.
__global__ void block_sums_kernel(const float* x, float* sums, int n) {
  __shared__ float part[kBlock];
  const int t = threadIdx.x;
  //@ task 1: part[t] = the sum of two elements, so that the block takes all of its 512
  //@ hint: the block's elements begin at 2 * kBlock * blockIdx.x
  //@ hint: a warp must load 32 neighbours at a time: which second element keeps it so?
  //@ hint: elements i and i + kBlock, each of which counts only if it is less than n
  //@ instead: part[t] = 0;
  //@ begin
  const int i = blockIdx.x * 2 * kBlock + t;
  part[t] = (i < n ? x[i] : 0.0f) + (i + kBlock < n ? x[i + kBlock] : 0.0f);
  //@ end
  __syncthreads();
  for (int width = kBlock; width > 1; width /= 2) {  // of what is left to add
    if (2 * t < width) part[t] = part[t] + part[width / 2 + t];
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = part[0];
}

inline void block_sums(const float* x, float* sums, int n) {
  //@ task 2: as many blocks as it takes
  //@ hint: a block takes 512 elements now, not 256
  //@ hint: the last block may have fewer: round up
  //@ hint: (n + 2 * kBlock - 1) / (2 * kBlock)
  //@ instead: const int grid = 1;
  //@ begin
  const int grid = (n + 2 * kBlock - 1) / (2 * kBlock);
  //@ end
  block_sums_kernel<<<grid, kBlock>>>(x, sums, n);
}
