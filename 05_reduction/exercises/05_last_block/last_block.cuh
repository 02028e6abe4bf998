// Exercise 05/last_block: a sum by one launch, which the last block finishes.
#pragma once

#include <cuda_runtime.h>

constexpr int kBlock = 128;

// The sum over the block, in thread 0. It may be called again at once.
__device__ inline float block_sum(float sum) {
  __shared__ float part[kBlock];
  const int t = threadIdx.x;
  part[t] = sum;
  __syncthreads();
  for (int width = kBlock; width > 1; width /= 2) {  // of what is left to add
    if (2 * t < width) part[t] = part[t] + part[width / 2 + t];
    __syncthreads();
  }
  sum = part[0];
  __syncthreads();
  return sum;
}

// *result = x[0] + ... + x[n - 1]. partials: room for one float a block; *counter: 0 before and
// after.
__global__ void sum_kernel(const float* x, int n, float* partials, unsigned* counter,
                           float* result) {
  __shared__ bool is_last;
  float sum = 0;
  for (int i = blockIdx.x * kBlock + threadIdx.x; i < n; i += gridDim.x * kBlock) sum += x[i];
  sum = block_sum(sum);
  //@ task 1: by thread 0: leave the block's sum in partials, and find out whether it is the last
  //@ hint: first the value, then __threadfence(), then the number: nobody may see it the other way
  //@ hint: atomicInc(counter, m) returns the old value; after m it begins again at 0
  //@ hint: the last of gridDim.x blocks draws gridDim.x - 1, and that resets the counter if m is it
  //@ instead: is_last = false;
  //@ begin
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
  }
  //@ end
  //@ task 2: all others are done
  //@ hint: every thread of the block must know what thread 0 found out
  //@ hint: a barrier, then `return` for the blocks that are not last, then a fence for the other
  //@ hint: __syncthreads(); if (!is_last) return; __threadfence();
  //@ begin
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  //@ end
  //@ task 3: the last block adds up the partial sums
  //@ hint: there are gridDim.x of them, perhaps more than the block has threads
  //@ hint: a loop with step kBlock, then block_sum again
  //@ hint: thread 0 writes *result
  //@ begin
  sum = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += kBlock) sum += partials[b];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *result = sum;
  //@ end
}

inline void sum(const float* x, int n, int blocks, float* partials, unsigned* counter,
                float* result) {
  sum_kernel<<<blocks, kBlock>>>(x, n, partials, counter, result);
}
