// sequential: the loops, over all shards.
//
// A CPU has one memory, so nothing moves: the loop reads each shard where it lies. The two forms
// of the problem differ in what is divided. In gather_gemm these are the rows of A and the columns
// of B: each sum is whole, but its row may lie anywhere. In gemm_scatter it is k: each sum goes
// over all ranks. What is still wrong: one core.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "04_matmul/sharded/kit/shards.hpp"

namespace matmul::sharded {

// Sum of x[p] y[p] for p < k, in fp32.
inline float dot(const __nv_bfloat16* x, const __nv_bfloat16* y, std::int64_t k) {
  float sum = 0;
  for (std::int64_t p = 0; p < k; ++p) sum += static_cast<float>(x[p]) * static_cast<float>(y[p]);
  return sum;
}

// c[r] = A b[r]', where a[s] are the rows of A that rank s has. Host pointers; rows.size(s) x k,
// columns.size(r) x k, m x columns.size(r).
inline void gather_gemm_sequential(const Shards& rows, const Shards& columns, std::int64_t k,
                                   const __nv_bfloat16* const* a, const __nv_bfloat16* const* b,
                                   __nv_bfloat16* const* c) {
  for (int r = 0; r < columns.parts; ++r) {
    const std::int64_t n = columns.size(r);
    for (int s = 0; s < rows.parts; ++s) {
      for (std::int64_t i = 0; i < rows.size(s); ++i) {
        __nv_bfloat16* const row = c[r] + (rows.first(s) + i) * n;
        for (std::int64_t j = 0; j < n; ++j) {
          row[j] = static_cast<__nv_bfloat16>(dot(a[s] + i * k, b[r] + j * k, k));
        }
      }
    }
  }
}

// c[r] = the rows of rank r of the sum of a[s] b[s]' over all s. Host pointers; m x ks.size(s),
// n x ks.size(s), rows.size(r) x n.
inline void gemm_scatter_sequential(const Shards& rows, const Shards& ks, std::int64_t n,
                                    const __nv_bfloat16* const* a, const __nv_bfloat16* const* b,
                                    __nv_bfloat16* const* c) {
  for (int r = 0; r < rows.parts; ++r) {
    for (std::int64_t i = 0; i < rows.size(r); ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (int s = 0; s < ks.parts; ++s) {
          const std::int64_t k = ks.size(s);
          sum += dot(a[s] + (rows.first(r) + i) * k, b[s] + j * k, k);
        }
        c[r][i * n + j] = static_cast<__nv_bfloat16>(sum);
      }
    }
  }
}

}  // namespace matmul::sharded
