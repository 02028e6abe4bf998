// What every product is compared with: the same product in double precision, and norms for the
// bounds of the error. Row-major matrices in host memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace matmul {

// C = A B, computed in double. Blocked, so that a large reference takes seconds and not minutes:
// a thread keeps a piece of four rows of C in its L1 cache and adds k products to it.
template <class T>
void multiply_in_double(const T* a, const T* b, double* c, std::int64_t m, std::int64_t n,
                        std::int64_t k) {
  constexpr std::int64_t kRows = 4, kCols = 512;
  const std::int64_t row_blocks = (m + kRows - 1) / kRows;
  const std::int64_t col_blocks = (n + kCols - 1) / kCols;
  // Neighbouring tasks share their columns of B, which stay in the cache.
#pragma omp parallel for schedule(static)
  for (std::int64_t task = 0; task < row_blocks * col_blocks; ++task) {
    const std::int64_t first_row = task % row_blocks * kRows;
    const std::int64_t first_col = task / row_blocks * kCols;
    const std::int64_t cols = std::min(kCols, n - first_col);
    const T* row[kRows];  // past the last row, the last one once more
    for (std::int64_t r = 0; r < kRows; ++r) row[r] = a + std::min(first_row + r, m - 1) * k;
    double sum[kRows][kCols] = {};
    for (std::int64_t p = 0; p < k; ++p) {
      const T* from = b + p * n + first_col;
      const double a0 = row[0][p], a1 = row[1][p], a2 = row[2][p], a3 = row[3][p];
      for (std::int64_t j = 0; j < cols; ++j) {
        const double x = from[j];
        sum[0][j] += a0 * x;
        sum[1][j] += a1 * x;
        sum[2][j] += a2 * x;
        sum[3][j] += a3 * x;
      }
    }
    for (std::int64_t r = 0; r < std::min(kRows, m - first_row); ++r) {
      std::copy(sum[r], sum[r] + cols, c + (first_row + r) * n + first_col);
    }
  }
}

// Root of the sum of squares of each row.
template <class T>
std::vector<double> row_norms(const T* x, std::int64_t rows, std::int64_t cols) {
  std::vector<double> norms(rows);
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::int64_t c = 0; c < cols; ++c)
      sum += static_cast<double>(x[r * cols + c]) * x[r * cols + c];
    norms[r] = std::sqrt(sum);
  }
  return norms;
}

// Root of the sum of squares of each column.
template <class T>
std::vector<double> column_norms(const T* x, std::int64_t rows, std::int64_t cols) {
  std::vector<double> norms(cols, 0.0);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c)
      norms[c] += static_cast<double>(x[r * cols + c]) * x[r * cols + c];
  }
  for (double& norm : norms) norm = std::sqrt(norm);
  return norms;
}

// Half the distance of a bf16 of size x to the next larger one: 8 significant bits.
inline double half_ulp_of_bf16(double x) {
  int exponent = 0;
  std::frexp(x, &exponent);  // x < 2^exponent
  return std::ldexp(1.0, std::max(exponent, -125) - 9);
}

}  // namespace matmul
