// The way of C out of the registers of mma.sync.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace matmul::bf16 {

// Rounds two neighbours and stores them at (row, col), as far as they are inside. kVectors:
// kit::has_vector_rows(c, cols) holds.
template <bool kVectors>
__device__ inline void store_two(__nv_bfloat16* c, int row, int col, int rows, int cols, float left,
                                 float right) {
  if (row >= rows || col >= cols) return;
  __nv_bfloat16* to = c + static_cast<std::int64_t>(row) * cols + col;
  if constexpr (kVectors) {
    *reinterpret_cast<__nv_bfloat162*>(to) = __floats2bfloat162_rn(left, right);
  } else {
    to[0] = __float2bfloat16(left);
    if (col + 1 < cols) to[1] = __float2bfloat16(right);
  }
}

}  // namespace matmul::bf16
