// global: one thread per output, everything straight from global memory.
//
// Each input is loaded by 2 r + 1 threads. The loads of a warp are coalesced, but most begin in the
// middle of a sector: 5 sectors instead of 4. The L1 cache answers nearly all of them, so device
// memory is not what this rung waits for; it waits for 2 (2 r + 1) load instructions per output,
// half of them for weights that are the same for all. What is wrong: every one goes through the
// cache.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/kit/check.cuh"

namespace window {

__global__ void window_global_kernel(const float* x, const float* weights, float* y, std::int64_t n,
                                     int radius) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = -radius; k <= radius; ++k) {
    if (i + k >= 0 && i + k < n) sum = fmaf(weights[k + radius], x[i + k], sum);
  }
  y[i] = sum;
}

// y[i] = sum of weights[k + radius] * x[i + k] for k = -radius .. radius, x = 0 outside. Device
// pointers.
inline void window_global(const float* x, const float* weights, float* y, std::int64_t n,
                          int radius, cudaStream_t stream) {
  const int block = 256;
  const std::int64_t grid = std::max<std::int64_t>(1, (n + block - 1) / block);
  window_global_kernel<<<grid, block, 0, stream>>>(x, weights, y, n, radius);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace window
