// openmp: all cores share the rows, and long rows too.
//
// A matrix may have fewer rows than there are cores. So with at most 64 rows each of the three
// loops is shared out over the columns of a row, with a reduction for the maximum and one for the
// sum; `simd` lets them use vector instructions. What is still wrong is the same as before: three
// passes over each row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace softmax {

// y = softmax of each row of x. Host pointers, row-major. Uses omp_get_max_threads() threads.
inline void openmp(const float* x, float* y, std::int64_t rows, std::int64_t columns) {
#pragma omp parallel for schedule(static) if (rows > 64)
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* from = x + row * columns;
    float* to = y + row * columns;
    float row_max = -HUGE_VALF;
    double sum = 0;
#pragma omp parallel for simd schedule(static) reduction(max : row_max) if (rows <= 64)
    for (std::int64_t i = 0; i < columns; ++i) row_max = std::max(row_max, from[i]);
#pragma omp parallel for simd schedule(static) reduction(+ : sum) if (rows <= 64)
    for (std::int64_t i = 0; i < columns; ++i) sum += to[i] = std::exp(from[i] - row_max);
    const auto inverse = static_cast<float>(1 / sum);
#pragma omp parallel for simd schedule(static) if (rows <= 64)
    for (std::int64_t i = 0; i < columns; ++i) to[i] *= inverse;
  }
}

}  // namespace softmax
