// grid_stride: as many blocks as the chip can hold, each thread walking on by the grid.
//
// The grid no longer depends on n: any grid covers any n. All blocks start at once and stay, where
// `cuda` starts tens of thousands one after the other, and a block may set up something once and
// use it often. Expect little gain here, where there is next to nothing to set up; the pattern is
// what matters. What is still wrong: a thread moves 4 bytes at a time.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace vector_add {

__global__ void vector_add_grid_stride_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t i = first; i < n; i += stride) y[i] = x[i] + y[i];
}

// y[i] = x[i] + y[i] for all i < n. Device pointers.
inline void vector_add_grid_stride(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  const int block = 256;
  static const int most = kit::resident_blocks(vector_add_grid_stride_kernel, block);
  const std::int64_t needed = std::max<std::int64_t>(1, (n + block - 1) / block);
  const int grid = static_cast<int>(std::min<std::int64_t>(most, needed));
  vector_add_grid_stride_kernel<<<grid, block, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace vector_add
