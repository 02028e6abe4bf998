// sequential: three loops over each row.
//
// The largest element (the row max), the sum of exp(x - row max), the quotients. Subtracting the
// same number from all exponents multiplies numerator and denominator by the same factor; with the
// max, no exponent is above zero and nothing can overflow.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace softmax {

// y = softmax of each row of x. Host pointers, row-major.
inline void sequential(const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* from = x + row * columns;
    float* to = y + row * columns;
    const float row_max = *std::max_element(from, from + columns);
    double sum = 0;  // a float would lose the tail of a long row
    for (std::int64_t i = 0; i < columns; ++i) sum += to[i] = std::exp(from[i] - row_max);
    const auto inverse = static_cast<float>(1 / sum);
    for (std::int64_t i = 0; i < columns; ++i) to[i] *= inverse;
  }
}

}  // namespace softmax
