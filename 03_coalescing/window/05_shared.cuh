// shared: the block loads its inputs once, with a halo, into shared memory.
//
// 256 outputs need 256 + 2 r inputs. The threads bring them together, each input once and
// coalesced, zeros where x ends; after the barrier every tap is a load from shared memory, without
// a test for the ends. Neighbouring lanes read neighbouring words: no bank conflict. What is still
// wrong: half of the loads fetch a weight that is the same for all threads.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "03_coalescing/window/kit/halo_tile.cuh"
#include "common/kit/check.cuh"

namespace window {

__global__ void window_shared_kernel(const float* __restrict__ x, const float* __restrict__ weights,
                                     float* __restrict__ y, std::int64_t n, int radius) {
  extern __shared__ float window_tile[];  // blockDim.x + 2 radius floats
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x;
  window_load_tile(x, n, first - radius, blockDim.x + 2 * radius, window_tile);
  __syncthreads();

  const std::int64_t i = first + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k <= 2 * radius; ++k) sum = fmaf(weights[k], window_tile[threadIdx.x + k], sum);
  y[i] = sum;
}

// y[i] = sum of weights[k + radius] * x[i + k] for k = -radius .. radius, x = 0 outside. Device
// pointers; radius up to kMaxRadius, so that the tile fits into the 48 KB every block may have.
inline void window_shared(const float* x, const float* weights, float* y, std::int64_t n,
                          int radius, cudaStream_t stream) {
  const int block = 256;
  const std::int64_t grid = std::max<std::int64_t>(1, (n + block - 1) / block);
  const std::size_t tile_bytes = (block + 2 * radius) * sizeof(float);
  window_shared_kernel<<<grid, block, tile_bytes, stream>>>(x, weights, y, n, radius);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace window
