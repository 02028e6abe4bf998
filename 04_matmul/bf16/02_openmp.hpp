// openmp: all cores, and four rows of C share what they load of B.
//
// A CPU without bf16 arithmetic must widen every element before it multiplies. Here a value of B is
// widened once for four rows, and the pieces of C that threads take in turn use the same columns of
// B one after the other, so these come from the cache. What is still wrong: in one clock the tensor
// cores of an H200 do 270,000 multiply-adds, a CPU core 8 to 32.
#pragma once

#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>

namespace matmul::bf16 {

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Host pointers. Uses
// omp_get_max_threads() threads.
inline void bf16_gemm_openmp(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                             std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kRows = 4, kCols = 512;
  const std::int64_t row_blocks = (m + kRows - 1) / kRows;
  const std::int64_t col_blocks = (n + kCols - 1) / kCols;
#pragma omp parallel for schedule(static)
  for (std::int64_t task = 0; task < row_blocks * col_blocks; ++task) {
    const std::int64_t first_row = task % row_blocks * kRows;
    const std::int64_t first_col = task / row_blocks * kCols;
    const std::int64_t cols = std::min(kCols, n - first_col);
    const __nv_bfloat16* row[kRows];  // past the last row, the last one once more
    for (std::int64_t r = 0; r < kRows; ++r) row[r] = a + std::min(first_row + r, m - 1) * k;
    float sum[kRows][kCols] = {};
    for (std::int64_t p = 0; p < k; ++p) {
      const __nv_bfloat16* from = b + p * n + first_col;
      const float a0 = row[0][p], a1 = row[1][p], a2 = row[2][p], a3 = row[3][p];
      for (std::int64_t j = 0; j < cols; ++j) {
        const float x = from[j];
        sum[0][j] += a0 * x;
        sum[1][j] += a1 * x;
        sum[2][j] += a2 * x;
        sum[3][j] += a3 * x;
      }
    }
    for (std::int64_t r = 0; r < std::min(kRows, m - first_row); ++r) {
      for (std::int64_t j = 0; j < cols; ++j) {
        c[(first_row + r) * n + first_col + j] = static_cast<__nv_bfloat16>(sum[r][j]);
      }
    }
  }
}

}  // namespace matmul::bf16
