// 16 bytes, eight elements, at a time to global memory, at every size.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace matmul::bf16 {

// Stores the eight elements (row, col .. col + 7) as far as they are inside. kVectors:
// has_vector_rows(x, cols) holds and col is a multiple of 8.
template <bool kVectors>
__device__ inline void store_eight(__nv_bfloat16* x, int row, int col, int rows, int cols,
                                   uint4 eight) {
  if (row >= rows || col >= cols) return;
  __nv_bfloat16* to = x + static_cast<std::int64_t>(row) * cols + col;
  if constexpr (kVectors) {
    *reinterpret_cast<uint4*>(to) = eight;
  } else {
    const auto* values = reinterpret_cast<const __nv_bfloat16*>(&eight);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (col + i < cols) to[i] = values[i];
    }
  }
}

}  // namespace matmul::bf16
