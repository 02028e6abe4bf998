// vector_store: both numbers of a point in one 8-byte store, both from one function.
//
// A float2 store of a warp covers 256 bytes without a gap: half the store instructions, every
// sector written whole. sincosf reduces the angle to [-pi/4, pi/4] once for both results.
// What is still wrong: exact to the last bit or two, and that costs some thirty instructions per
// point.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/check.cuh"

namespace polar {

__global__ void polar_vector_store_kernel(const float* phi, float2* z, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float2 point;
  sincosf(phi[i], &point.y, &point.x);
  z[i] = point;
}

// z[i] = (cos(phi[i]), sin(phi[i])) for all i < n, n > 0. Device pointers, radians; z is aligned to
// 8 bytes, as every float2 must be.
inline void polar_vector_store(const float* phi, float2* z, std::int64_t n, cudaStream_t stream) {
  const int block = 256;
  const std::int64_t grid = (n + block - 1) / block;
  polar_vector_store_kernel<<<grid, block, 0, stream>>>(phi, z, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace polar
