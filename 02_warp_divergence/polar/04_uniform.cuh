// uniform: one thread for each point.
//
// Half the threads, each with twice the work: first the cosine, then the sine. There is nothing
// left for the lanes to disagree about, so no branch parts them. What is still wrong: the two
// stores of a warp each skip every second float, 8 sectors with half of each used.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/check.cuh"

namespace polar {

__global__ void polar_uniform_kernel(const float* phi, float* z, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float angle = phi[i];
  z[2 * i] = cosf(angle);
  z[2 * i + 1] = sinf(angle);
}

// z[2i] = cos(phi[i]), z[2i + 1] = sin(phi[i]) for all i < n, n > 0. Device pointers, radians.
inline void polar_uniform(const float* phi, float* z, std::int64_t n, cudaStream_t stream) {
  const int block = 256;
  const std::int64_t grid = (n + block - 1) / block;
  polar_uniform_kernel<<<grid, block, 0, stream>>>(phi, z, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace polar
