// Exercise 05/tree: the sum of each block, in shared memory.
#pragma once

#include <cuda_runtime.h>

constexpr int kBlock = 256;

// sums[b] = x[256 b] + ... + x[256 b + 255], where what lies past x's n elements counts as 0.
__global__ void block_sums_kernel(const float* x, float* sums, int n) {
  __shared__ float part[kBlock];
  const int t = threadIdx.x, i = blockIdx.x * kBlock + t;
  part[t] = i < n ? x[i] : 0.0f;
  __syncthreads();
  //@ task 1: the tree; at its end part[0] is the sum
  //@ hint: first 128 threads add, then 64, 32, ... 1; thread t adds the element that far after its own
  //@ hint: for (int half = kBlock / 2; half > 0; half /= 2), with part[t] += part[t + half]
  //@ hint: every step reads what the step before has written: a barrier in between, for all threads
  //@ begin
  for (int half = kBlock / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  //@ end
  if (t == 0) sums[blockIdx.x] = part[0];
}

inline void block_sums(const float* x, float* sums, int n) {
  block_sums_kernel<<<(n + kBlock - 1) / kBlock, kBlock>>>(x, sums, n);
}
