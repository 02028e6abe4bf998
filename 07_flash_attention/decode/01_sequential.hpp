// sequential: the definition, one query head after the other.
//
// Each step of decoding has one new token, so a query head is one row: its scores with all tokens
// in the cache, their softmax, and the mean of the values with these weights. A matrix product has
// become a product of a matrix and a vector: of each element that is loaded a query makes two
// operations, and there is nothing else to do with it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "07_flash_attention/decode/shape.hpp"

namespace decode {

// Host pointers.
template <class T>
void sequential(const Shape& shape, const Tensors<T>& t, const Cache& cache) {
  const int d = shape.d;
  const auto to_float = [](T x) { return static_cast<float>(x); };
  std::vector<float> weights, o(d);
  for (std::int64_t row = 0; row < shape.rows(); ++row) {
    const std::int64_t kv_head = row / shape.group(), sequence = row / shape.heads;
    const int first = cache.first(sequence), end = cache.end(sequence);

    float largest = -INFINITY, sum = 0;
    weights.assign(end - first, 0.0f);
    for (int j = first; j < end; ++j) {
      const T* k = t.k + cache.row(shape, kv_head, j) * d;
      float score = 0;
      for (int c = 0; c < d; ++c) score += to_float(t.q[row * d + c]) * to_float(k[c]);
      weights[j - first] = score *= shape.scale();
      largest = std::max(largest, score);
    }

    o.assign(d, 0.0f);
    for (int j = first; j < end; ++j) {
      const T* v = t.v + cache.row(shape, kv_head, j) * d;
      const float weight = std::exp(weights[j - first] - largest);
      sum += weight;
      for (int c = 0; c < d; ++c) o[c] += weight * to_float(v[c]);
    }
    for (int c = 0; c < d; ++c) t.o[row * d + c] = T(sum == 0 ? 0.0f : o[c] / sum);
    t.lse[row] = largest + std::log(sum);  // -infinity without keys
  }
}

}  // namespace decode
