// shuffle_down: within a warp, lanes read each other's registers.
//
// __shfl_down_sync(mask, v, s) returns the v of the lane s further on: five of them sum a warp,
// with no shared memory and no barrier of the block. Warp 0 then sums the eight sums of the warps.
// The mask names the lanes that take part, and every one of them must really get there: that is why
// all 32 lanes of warp 0 shuffle, those without a sum with 0, and no `if (t < 8)` stands around it.
// What is still wrong: the total ends up in one lane only.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/kit/all_lanes.cuh"
#include "05_reduction/sum/kit/grid.cuh"
#include "05_reduction/sum/kit/passes.cuh"

namespace reduction {

// The sum over the warp, in lane 0; the other lanes hold sums of parts. All 32 lanes must call it.
__device__ inline float warp_sum_down(float sum) {
  for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(kAllLanes, sum, s);
  return sum;
}

__global__ void sum_shuffle_down_kernel(const float* x, float* sums, std::int64_t n) {
  constexpr int kWarps = kSumBlock / 32;
  __shared__ float warp_sums[kWarps];
  const int t = threadIdx.x;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 2 * kSumBlock + t;
  const float own = (i < n ? x[i] : 0) + (i + kSumBlock < n ? x[i + kSumBlock] : 0);

  const float of_warp = warp_sum_down(own);
  if (t % 32 == 0) warp_sums[t / 32] = of_warp;
  __syncthreads();

  if (t < 32) {
    const float of_block = warp_sum_down(t < kWarps ? warp_sums[t] : 0);
    if (t == 0) sums[blockIdx.x] = of_block;
  }
}

// *result = x[0] + ... + x[n - 1], 0 for n = 0. Device pointers; partials as for sum_in_passes.
inline void sum_shuffle_down(const float* x, float* result, std::int64_t n, float* partials,
                             cudaStream_t stream) {
  sum_in_passes(sum_shuffle_down_kernel, 2 * kSumBlock, x, result, n, partials, stream);
}

}  // namespace reduction
