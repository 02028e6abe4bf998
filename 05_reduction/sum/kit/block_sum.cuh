// The sum over a warp and over a block, in every thread: shuffles that exchange (xor).
#pragma once

#include <cuda_runtime.h>

#include "05_reduction/kit/all_lanes.cuh"

namespace reduction {

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

}  // namespace reduction
