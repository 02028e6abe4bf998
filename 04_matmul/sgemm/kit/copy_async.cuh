// Copies from global to shared memory by cp.async (sm_80), zeros past the edge.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace matmul::sgemm {

// Issues a copy of kBytes (4 or 16) to shared memory. If not `inside`, `from` is left alone and
// zeros are stored.
template <int kBytes>
__device__ inline void copy_async(float* to, const float* from, bool inside) {
  if (inside) {
    __pipeline_memcpy_async(to, from, kBytes);
  } else if constexpr (kBytes == 16) {
    *reinterpret_cast<float4*>(to) = make_float4(0, 0, 0, 0);
  } else {
    *to = 0;
  }
}

// The same for the four elements (row, col .. col + 3) of a rows x cols matrix.
template <bool kVectors>
__device__ inline void copy_four_async(float* to, const float* x, int row, int col, int rows,
                                       int cols) {
  const float* from = x + static_cast<std::int64_t>(row) * cols + col;
  if constexpr (kVectors) {
    copy_async<16>(to, from, row < rows && col < cols);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) copy_async<4>(to + i, from + i, row < rows && col + i < cols);
  }
}

}  // namespace matmul::sgemm
