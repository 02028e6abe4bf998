// Exercise 06/aggregate: the sum of bytes in one cell, asked for by one lane of each warp.
#pragma once

#include <cuda_runtime.h>

constexpr int kBlock = 128;

// The sum over the 32 lanes of a warp, right in lane 0. All lanes call it.
__device__ inline unsigned warp_sum(unsigned sum) {
  for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffffu, sum, s);
  return sum;
}

// *total += x[0] + ... + x[n - 1].
__global__ void sum_kernel(const unsigned char* x, int n, unsigned long long* total) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  //@ task 1: add the warp's bytes to *total with one atomicAdd
  //@ hint: warp_sum must be called by all 32 lanes, those past the end too: they bring 0
  //@ hint: only lane 0 knows the sum, and only it asks: threadIdx.x % 32 == 0
  //@ hint: atomicAdd(total, static_cast<unsigned long long>(sum))
  //@ begin
  const unsigned sum = warp_sum(i < n ? x[i] : 0u);
  if (threadIdx.x % 32 == 0) atomicAdd(total, static_cast<unsigned long long>(sum));
  //@ end
}

inline void sum(const unsigned char* x, int n, unsigned long long* total) {
  sum_kernel<<<(n + kBlock - 1) / kBlock, kBlock>>>(x, n, total);
}
