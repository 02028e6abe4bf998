// read_only: the compiler is told that nobody writes x and weights.
//
// Without a promise the compiler must assume that y overlaps x: it may not move a load past a
// store, nor load as from data that nobody writes. `const` and `__restrict__` on the parameters, or
// __ldg() at the load, promise that: the loads become ld.global.nc. Here there is one store, at the
// end, so little can move; on Kepler GPUs (2012) this was a path of its own, through the texture
// cache. Expect next to nothing; on an H200 it takes 16 % longer. What is still wrong: as many
// loads as before.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/kit/check.cuh"

namespace window {

__global__ void window_read_only_kernel(const float* __restrict__ x,
                                        const float* __restrict__ weights, float* __restrict__ y,
                                        std::int64_t n, int radius) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = -radius; k <= radius; ++k) {
    if (i + k >= 0 && i + k < n) sum = fmaf(__ldg(weights + k + radius), __ldg(x + i + k), sum);
  }
  y[i] = sum;
}

// y[i] = sum of weights[k + radius] * x[i + k] for k = -radius .. radius, x = 0 outside. Device
// pointers.
inline void window_read_only(const float* x, const float* weights, float* y, std::int64_t n,
                             int radius, cudaStream_t stream) {
  const int block = 256;
  const std::int64_t grid = std::max<std::int64_t>(1, (n + block - 1) / block);
  window_read_only_kernel<<<grid, block, 0, stream>>>(x, weights, y, n, radius);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace window
