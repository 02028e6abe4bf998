// divergent: one thread per element, the branch as it stands.
//
// A warp whose elements are all cheap skips the expensive path: the hardware needs no help for
// that. But one expensive element is enough to send the warp through all 256 steps, 31 lanes
// switched off. With 2 % of the elements expensive, almost half of the warps have at least one:
// 1 - 0.98^32 = 48 %.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "02_warp_divergence/branch/kit/paths.cuh"
#include "common/kit/check.cuh"

namespace branch {

__global__ void branch_divergent_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float value = x[i];
  if (is_expensive(value)) {
    y[i] = expensive_path(value);
  } else {
    y[i] = cheap_path(value);
  }
}

// y[i] = x[i] < 0 ? expensive_path(x[i]) : cheap_path(x[i]) for all i < n, n > 0. Device pointers.
inline void branch_divergent(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  const int block = 256;
  const std::int64_t grid = (n + block - 1) / block;
  branch_divergent_kernel<<<grid, block, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace branch
