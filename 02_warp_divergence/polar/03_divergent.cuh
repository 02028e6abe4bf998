// divergent: one thread for each number of the result.
//
// z has 2n numbers, so 2n threads: even ones compute a cosine, odd ones a sine. It reads well, and
// neighbouring threads own neighbouring floats. But lanes of a warp share one instruction at a
// time. Half of them want the cosine's code, half the sine's, so the warp runs both, each with 16
// of its 32 lanes switched off, and each path's store writes every second float only.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/check.cuh"

namespace polar {

__global__ void polar_divergent_kernel(const float* phi, float* z, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= 2 * n) return;
  const float angle = phi[i / 2];
  if (i % 2 == 0) {
    z[i] = cosf(angle);
  } else {
    z[i] = sinf(angle);
  }
}

// z[2i] = cos(phi[i]), z[2i + 1] = sin(phi[i]) for all i < n, n > 0. Device pointers, radians.
inline void polar_divergent(const float* phi, float* z, std::int64_t n, cudaStream_t stream) {
  const int block = 256;
  const std::int64_t grid = (2 * n + block - 1) / block;
  polar_divergent_kernel<<<grid, block, 0, stream>>>(phi, z, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace polar
