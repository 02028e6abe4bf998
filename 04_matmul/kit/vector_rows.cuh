// 16 bytes, eight elements, at a time from global memory and to it, at every size.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace matmul {

// Whether accesses of 16 bytes may begin at every row: of A, m x k; of C, m x n; of B, k x n or, if
// kTransposedB, n x k.
template <bool kTransposedB>
bool have_vector_rows(const __nv_bfloat16* a, const __nv_bfloat16* b, const __nv_bfloat16* c,
                      std::int64_t n, std::int64_t k) {
  return kit::has_vector_rows(a, k) && kit::has_vector_rows(b, kTransposedB ? k : n) &&
         kit::has_vector_rows(c, n);
}

// For a rung that has no other way, as those for TMA: throws Skip if they may not.
template <bool kTransposedB>
void require_vector_rows(const __nv_bfloat16* a, const __nv_bfloat16* b, const __nv_bfloat16* c,
                         std::int64_t n, std::int64_t k) {
  if (!have_vector_rows<kTransposedB>(a, b, c, n, k)) throw kit::Skip("needs rows of 16 bytes");
}

// The eight elements (row, col .. col + 7) of a rows x cols matrix, zeros past the edge. kVectors:
// kit::has_vector_rows(x, cols) holds and col is a multiple of 8, so they are inside or outside as
// a whole. Otherwise they are loaded one by one.
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

// Stores the eight elements (row, col .. col + 7) as far as they are inside. kVectors as above.
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

}  // namespace matmul
