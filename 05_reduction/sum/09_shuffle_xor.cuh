// Rung 9, shuffle_xor: a butterfly instead of a tree, so that every lane has the total.
//
// Lane l adds what lane l ^ s holds: both of a pair compute the same sum, and after five steps all
// 32 lanes have it. The instructions are as many as before, the idle lanes of the tree just work
// too. Every warp can thus sum the warps' sums by itself: all threads of the block know the result
// after one barrier, which a softmax or a norm needs. What is still wrong: each thread loads twice
// 4 bytes and is gone.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/sum/08_shuffle_down.cuh"

// The sum over the warp, in every lane. All 32 lanes must call it.
__device__ inline float warp_sum(float sum) {
  for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(kAllLanes, sum, s);
  return sum;
}

// The sum over a block of kBlock threads, in every thread. All must call it, and once only per
// kernel: a second call would need a barrier before it overwrites warp_sums.
template <int kBlock>
__device__ float block_sum(float own) {
  constexpr int kWarps = kBlock / 32;
  __shared__ float warp_sums[kWarps];
  const int lane = threadIdx.x % 32;

  const float of_warp = warp_sum(own);
  if (lane == 0) warp_sums[threadIdx.x / 32] = of_warp;
  __syncthreads();
  return warp_sum(lane < kWarps ? warp_sums[lane] : 0);
}

__global__ void sum_shuffle_xor_kernel(const float* x, float* sums, std::int64_t n) {
  const int t = threadIdx.x;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 2 * kSumBlock + t;
  const float own = (i < n ? x[i] : 0) + (i + kSumBlock < n ? x[i + kSumBlock] : 0);
  const float of_block = block_sum<kSumBlock>(own);
  if (t == 0) sums[blockIdx.x] = of_block;
}

// *result = x[0] + ... + x[n - 1], 0 for n = 0. Device pointers; partials as for sum_in_passes.
inline void sum_shuffle_xor(const float* x, float* result, std::int64_t n, float* partials,
                            cudaStream_t stream) {
  sum_in_passes(sum_shuffle_xor_kernel, 2 * kSumBlock, x, result, n, partials, stream);
}
