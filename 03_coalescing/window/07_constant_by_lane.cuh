// constant_by_lane: every lane begins at a tap of its own. Slower, and meant to be.
//
// The sum is the same, taken in another order: each lane starts one tap before its neighbour. The
// 32 lanes read up to 2 r + 1 different constants at once, and the constant cache answers them one
// address after the other. Neighbours meet at the same input, so shared memory has no conflict to
// blame. A table that is indexed by data belongs into shared or global memory. The next rung
// returns to uniform reads.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "03_coalescing/window/kit/halo_tile.cuh"
#include "03_coalescing/window/kit/weights.cuh"
#include "common/kit/check.cuh"

namespace window {

// The tap a lane begins with: 0, taps - 1, taps - 2, ...
__host__ __device__ inline int window_first_tap(int lane, int taps) {
  return (taps - lane % taps) % taps;
}

__global__ void window_constant_by_lane_kernel(const float* __restrict__ x, float* __restrict__ y,
                                               std::int64_t n, int radius) {
  extern __shared__ float window_tile[];  // blockDim.x + 2 radius floats
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x;
  window_load_tile(x, n, first - radius, blockDim.x + 2 * radius, window_tile);
  __syncthreads();

  const std::int64_t i = first + threadIdx.x;
  if (i >= n) return;
  const int taps = 2 * radius + 1;
  // region taps
  int k = window_first_tap(threadIdx.x % 32, taps);
  float sum = 0;
  for (int count = 0; count < taps; ++count) {
    sum = fmaf(window_weights[k], window_tile[threadIdx.x + k], sum);
    k = k + 1 == taps ? 0 : k + 1;
  }
  // endregion
  y[i] = sum;
}

// As window_constant().
inline void window_constant_by_lane(const float* x, float* y, std::int64_t n, int radius,
                                    cudaStream_t stream) {
  const int block = 256;
  const std::int64_t grid = std::max<std::int64_t>(1, (n + block - 1) / block);
  const std::size_t tile_bytes = (block + 2 * radius) * sizeof(float);
  window_constant_by_lane_kernel<<<grid, block, tile_bytes, stream>>>(x, y, n, radius);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace window
