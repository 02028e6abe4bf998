// sequential: the definition, one query after the other.
//
// For each query: its scores against all keys, the softmax of these, the mean of all values with
// these weights. The row's largest score is subtracted before the exponential, or large scores
// would overflow. A row of scores is all that is kept; but it is kept.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "07_flash_attention/shape.hpp"

namespace attention {

// Host pointers; shapes as Shape says.
inline void sequential(const Shape& shape, const Tensors<float>& t) {
  const int d = shape.d;
  std::vector<float> p(shape.n_k);
  for (std::int64_t row = 0; row < shape.rows(); ++row) {
    const std::int64_t head = row / shape.n_q;
    const std::int64_t keys = shape.visible(row % shape.n_q);
    const float* q = t.q + row * d;
    const float* k = t.k + head * shape.n_k * d;
    const float* v = t.v + head * shape.n_k * d;

    // Scores, and the largest of them.
    float row_max = -HUGE_VALF;
    for (std::int64_t j = 0; j < keys; ++j) {
      float score = 0;
      for (int c = 0; c < d; ++c) score += q[c] * k[j * d + c];
      p[j] = shape.scale() * score;
      row_max = std::max(row_max, p[j]);
    }
    float sum = 0;
    for (std::int64_t j = 0; j < keys; ++j) sum += p[j] = std::exp(p[j] - row_max);

    // The mean of the values.
    float* o = t.o + row * d;
    std::fill(o, o + d, 0.0f);
    for (std::int64_t j = 0; j < keys; ++j) {
      const float weight = p[j] / sum;
      for (int c = 0; c < d; ++c) o[c] += weight * v[j * d + c];
    }
    t.lse[row] = row_max + std::log(sum);  // without keys: -infinity + log 0
  }
}

}  // namespace attention
