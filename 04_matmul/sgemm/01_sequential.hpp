// sequential: three loops.
//
// One core. The textbook's order is row, column, sum; here the sum is the middle loop. Then the
// innermost loop runs along a row of B and a row of C, both as they lie in memory, and the compiler
// can do 8 or 16 columns at once. In the textbook's order it would walk down a column of B, a new
// cache line for every multiplication. What is still wrong: all of B passes by for every row of C,
// and the other cores are idle.
#pragma once

#include <algorithm>
#include <cstdint>

namespace matmul::sgemm {

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Host pointers.
inline void sgemm_sequential(const float* a, const float* b, float* c, std::int64_t m,
                             std::int64_t n, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    std::fill(c + i * n, c + (i + 1) * n, 0.0f);
    for (std::int64_t p = 0; p < k; ++p) {
      const float x = a[i * k + p];
      for (std::int64_t j = 0; j < n; ++j) c[i * n + j] += x * b[p * n + j];
    }
  }
}

}  // namespace matmul::sgemm
