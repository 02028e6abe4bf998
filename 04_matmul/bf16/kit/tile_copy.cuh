// 16 bytes, eight elements, at a time from global memory, at every size.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/kit/align.hpp"

namespace matmul::bf16 {

// Whether 16-byte accesses fit: rows of `cols` elements begin at multiples of 16 bytes.
inline bool has_vector_rows(const __nv_bfloat16* x, std::int64_t cols) {
  return cols % 8 == 0 && kit::is_aligned_to_16(x);
}

// The eight elements (row, col .. col + 7) of a rows x cols matrix, zeros past the edge. kVectors:
// has_vector_rows(x, cols) holds and col is a multiple of 8, so they are inside or outside as a
// whole. Otherwise they are loaded one by one.
template <bool kVectors>
__device__ inline uint4 eight_or_zero(const __nv_bfloat16* x, int row, int col, int rows,
                                      int cols) {
  alignas(16) __nv_bfloat16 values[8];
  const __nv_bfloat16* from = x + static_cast<std::int64_t>(row) * cols + col;
  if constexpr (kVectors) {
    if (row >= rows || col >= cols) return make_uint4(0, 0, 0, 0);
    return *reinterpret_cast<const uint4*>(from);
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      values[i] = row < rows && col + i < cols ? from[i] : __ushort_as_bfloat16(0);
    }
    return *reinterpret_cast<const uint4*>(values);
  }
}

// Calls launch(vectors) with std::true_type or std::false_type: whether 16-byte accesses fit the
// rows of all three matrices, which have this many elements.
template <class Launch>
void with_vector_rows(const __nv_bfloat16* a, std::int64_t a_cols, const __nv_bfloat16* b,
                      std::int64_t b_cols, const __nv_bfloat16* c, std::int64_t c_cols,
                      Launch launch) {
  if (has_vector_rows(a, a_cols) && has_vector_rows(b, b_cols) && has_vector_rows(c, c_cols)) {
    launch(std::true_type{});
  } else {
    launch(std::false_type{});
  }
}

}  // namespace matmul::bf16
