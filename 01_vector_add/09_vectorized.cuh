// vectorized: 16 bytes per load and store instead of 4.
//
// A quarter of the instructions for the same bytes, and a request (one load or store instruction of
// a warp) covers 512 bytes. A float4 must lie on a 16-byte boundary: cudaMalloc gives 256, but x +
// 1 has only 4, so pointers are checked, and others refused. The last n % 4 elements go one by one.
// What is still wrong: a thread waits for its one pair of loads before it asks for the next.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "01_vector_add/kit/add.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace vector_add {

__global__ void vector_add_vectorized_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t vectors = n / 4;
  const float4* x4 = reinterpret_cast<const float4*>(x);
  float4* y4 = reinterpret_cast<float4*>(y);
  for (std::int64_t i = first; i < vectors; i += stride) y4[i] = add(x4[i], y4[i]);

  const std::int64_t tail = 4 * vectors + first;
  if (tail < n) y[tail] = x[tail] + y[tail];
}

// y[i] = x[i] + y[i] for all i < n. Device pointers, both aligned to 16 bytes.
inline void vector_add_vectorized(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  kit::require_aligned_to_16(x, y);
  const int block = 256;
  static const int most = kit::resident_blocks(vector_add_vectorized_kernel, block);
  const std::int64_t needed = std::max<std::int64_t>(1, (n / 4 + block - 1) / block);
  const int grid = static_cast<int>(std::min<std::int64_t>(most, needed));
  vector_add_vectorized_kernel<<<grid, block, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace vector_add
