// sequential: three loops, sums in fp32, one rounding at the end.
//
// bf16 is the upper half of a float: 8 bits of exponent, but only 8 significant bits. A sum kept in
// bf16 would stop growing as soon as it is 256 times as large as what is added, so all rungs keep
// sums in fp32 and round each once. Hence the loop over columns goes in pieces whose sums have room
// in the L1 cache. What is still wrong: all of B passes by for every row of C, and the other
// cores are idle.
#pragma once

#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>

namespace matmul::bf16 {

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Host pointers.
inline void bf16_gemm_sequential(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                                 std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kCols = 1024;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t first = 0; first < n; first += kCols) {
      const std::int64_t cols = std::min(kCols, n - first);
      // region row
      float sum[kCols] = {};
      for (std::int64_t p = 0; p < k; ++p) {
        const float x = a[i * k + p];
        const __nv_bfloat16* from = b + p * n + first;
        for (std::int64_t j = 0; j < cols; ++j) sum[j] += x * static_cast<float>(from[j]);
      }
      for (std::int64_t j = 0; j < cols; ++j) {
        c[i * n + first + j] = static_cast<__nv_bfloat16>(sum[j]);
      }
      // endregion
    }
  }
}

}  // namespace matmul::bf16
