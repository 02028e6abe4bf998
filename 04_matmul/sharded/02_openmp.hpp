// openmp: all cores, each with its rows of C.
//
// Rows of C do not depend on each other, so cores take them in turns, and a core multiplies four
// rows of A at once with a row of B, which it widens to fp32 once for all four. What is still
// wrong: a CPU has no tensor cores.
#pragma once

#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/sharded/kit/shards.hpp"

namespace matmul::sharded {

constexpr std::int64_t kRowsAtOnce = 4;

// sum[i] += row first + i of a times y, both k long, for i < kRowsAtOnce; past the last row, that
// once more.
inline void add_dots(const __nv_bfloat16* a, std::int64_t first, std::int64_t rows,
                     const __nv_bfloat16* y, std::int64_t k, float (&sum)[kRowsAtOnce]) {
  const __nv_bfloat16* row[kRowsAtOnce];
  for (std::int64_t i = 0; i < kRowsAtOnce; ++i) row[i] = a + std::min(first + i, rows - 1) * k;
  float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
  for (std::int64_t p = 0; p < k; ++p) {
    const float each = y[p];
    s0 += static_cast<float>(row[0][p]) * each;
    s1 += static_cast<float>(row[1][p]) * each;
    s2 += static_cast<float>(row[2][p]) * each;
    s3 += static_cast<float>(row[3][p]) * each;
  }
  sum[0] += s0, sum[1] += s1, sum[2] += s2, sum[3] += s3;
}

// As gather_gemm_sequential. Uses omp_get_max_threads() threads.
inline void gather_gemm_openmp(const Shards& rows, const Shards& columns, std::int64_t k,
                               const __nv_bfloat16* const* a, const __nv_bfloat16* const* b,
                               __nv_bfloat16* const* c) {
  for (int s = 0; s < rows.parts; ++s) {
    const std::int64_t height = rows.size(s);
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t first = 0; first < height; first += kRowsAtOnce) {
      for (int r = 0; r < columns.parts; ++r) {
        const std::int64_t n = columns.size(r);
        for (std::int64_t j = 0; j < n; ++j) {
          float sum[kRowsAtOnce] = {};
          add_dots(a[s], first, height, b[r] + j * k, k, sum);
          for (std::int64_t i = 0; i < std::min(kRowsAtOnce, height - first); ++i) {
            c[r][(rows.first(s) + first + i) * n + j] = static_cast<__nv_bfloat16>(sum[i]);
          }
        }
      }
    }
  }
}

// As gemm_scatter_sequential. Uses omp_get_max_threads() threads.
inline void gemm_scatter_openmp(const Shards& rows, const Shards& ks, std::int64_t n,
                                const __nv_bfloat16* const* a, const __nv_bfloat16* const* b,
                                __nv_bfloat16* const* c) {
  for (int r = 0; r < rows.parts; ++r) {
    const std::int64_t height = rows.size(r);
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t first = 0; first < height; first += kRowsAtOnce) {
      for (std::int64_t j = 0; j < n; ++j) {
        float sum[kRowsAtOnce] = {};
        for (int s = 0; s < ks.parts; ++s) {
          const std::int64_t k = ks.size(s);
          add_dots(a[s] + rows.first(r) * k, first, height, b[s] + j * k, k, sum);
        }
        for (std::int64_t i = 0; i < std::min(kRowsAtOnce, height - first); ++i) {
          c[r][(first + i) * n + j] = static_cast<__nv_bfloat16>(sum[i]);
        }
      }
    }
  }
}

}  // namespace matmul::sharded
