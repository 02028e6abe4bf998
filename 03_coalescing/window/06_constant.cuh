// constant: the weights move to __constant__ memory.
//
// Constant memory is 64 KB with a cache of its own on every SM, built for one case: all lanes of a
// warp read the same address. Then one read serves the warp, and it takes no slot of the load unit.
// The loop over k is uniform, so weights[k] is exactly that. What is still wrong: one shared load
// per product. But first, a step aside: what if the lanes did not agree on k?
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "03_coalescing/window/kit/halo_tile.cuh"
#include "03_coalescing/window/kit/weights.cuh"
#include "common/kit/check.cuh"

namespace window {

__global__ void window_constant_kernel(const float* __restrict__ x, float* __restrict__ y,
                                       std::int64_t n, int radius) {
  extern __shared__ float window_tile[];  // blockDim.x + 2 radius floats
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x;
  window_load_tile(x, n, first - radius, blockDim.x + 2 * radius, window_tile);
  __syncthreads();

  const std::int64_t i = first + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k <= 2 * radius; ++k) {
    sum = fmaf(window_weights[k], window_tile[threadIdx.x + k], sum);
  }
  y[i] = sum;
}

// y[i] = sum of weight[k + radius] * x[i + k] for k = -radius .. radius, x = 0 outside, with the
// weights of the last window_set_weights(). Device pointers; radius up to kMaxRadius.
inline void window_constant(const float* x, float* y, std::int64_t n, int radius,
                            cudaStream_t stream) {
  const int block = 256;
  const std::int64_t grid = std::max<std::int64_t>(1, (n + block - 1) / block);
  const std::size_t tile_bytes = (block + 2 * radius) * sizeof(float);
  window_constant_kernel<<<grid, block, tile_bytes, stream>>>(x, y, n, radius);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace window
