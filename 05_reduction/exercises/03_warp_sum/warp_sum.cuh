// Exercise 05/warp_sum: the sum of a block, by shuffles.
#pragma once

#include <cuda_runtime.h>

constexpr int kBlock = 256;
constexpr int kWarps = kBlock / 32;
constexpr unsigned kAllLanes = 0xffffffffu;

// The sum over the 32 lanes of a warp, valid in lane 0. All lanes call it.
__device__ inline float warp_sum(float sum) {
  //@ task 1: a tree in registers
  //@ hint: __shfl_down_sync(kAllLanes, sum, s) is the value of the lane s further on
  //@ hint: five steps, with s = 16, 8, 4, 2, 1; every lane takes part in each
  //@ hint: for (int s = 16; s > 0; s /= 2) sum += ...
  //@ begin
  for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(kAllLanes, sum, s);
  //@ end
  return sum;
}

// sums[b] = x[256 b] + ... + x[256 b + 255], where what lies past x's n elements counts as 0.
__global__ void block_sums_kernel(const float* x, float* sums, int n) {
  __shared__ float of_warps[kWarps];
  const int t = threadIdx.x, i = blockIdx.x * kBlock + t;
  float sum = warp_sum(i < n ? x[i] : 0.0f);
  //@ task 2: the sums of the eight warps become one, in thread 0's `sum`
  //@ hint: lane 0 of each warp leaves its sum in of_warps
  //@ hint: then a barrier, then warp 0 alone goes on, all 32 lanes of it
  //@ hint: lane l of warp 0 takes of_warps[l] if l < kWarps, otherwise 0, and calls warp_sum
  //@ begin
  if (t % 32 == 0) of_warps[t / 32] = sum;
  __syncthreads();
  if (t < 32) sum = warp_sum(t < kWarps ? of_warps[t] : 0.0f);
  //@ end
  if (t == 0) sums[blockIdx.x] = sum;
}

inline void block_sums(const float* x, float* sums, int n) {
  block_sums_kernel<<<(n + kBlock - 1) / kBlock, kBlock>>>(x, sums, n);
}
