// sequential: the definition, one query after the other.
//
// The tokens of all sequences lie one after the other, and of each token all heads: no sequence is
// filled up to the length of another one. A row knows its sequence, and so the keys that it sees.
// What is still wrong: one core.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "07_flash_attention/prefill/shape.hpp"

namespace prefill {

// Host pointers.
template <class T>
void sequential(const Shape& shape, const Tensors<T>& t, const Starts& starts) {
  const int d = shape.d;
  const auto to_float = [](T x) { return static_cast<float>(x); };
  std::vector<float> weights, o(d);
  for (int i = 0; i < shape.batch; ++i) {
    const Sequence sequence = starts.sequence(i);
    for (std::int64_t row = 0; row < std::int64_t{sequence.n_q} * shape.heads; ++row) {
      const int query = static_cast<int>(row / shape.heads), head = row % shape.heads;
      const std::int64_t token = sequence.first_q + query;
      const KeyRange keys = shape.visibility(sequence).keys(query);
      const auto row_of_key = [&](int key) {
        return (std::int64_t{sequence.first_k + key} * shape.kv_heads + head / shape.group()) * d;
      };
      const T* q = t.q + (token * shape.heads + head) * d;

      float largest = -INFINITY, sum = 0;
      weights.assign(keys.end - keys.begin, 0.0f);
      for (int j = keys.begin; j < keys.end; ++j) {
        const T* k = t.k + row_of_key(j);
        float score = 0;
        for (int c = 0; c < d; ++c) score += to_float(q[c]) * to_float(k[c]);
        weights[j - keys.begin] = score *= shape.scale();
        largest = std::max(largest, score);
      }

      o.assign(d, 0.0f);
      for (int j = keys.begin; j < keys.end; ++j) {
        const T* v = t.v + row_of_key(j);
        const float weight = std::exp(weights[j - keys.begin] - largest);
        sum += weight;
        for (int c = 0; c < d; ++c) o[c] += weight * to_float(v[c]);
      }
      T* to = t.o + (token * shape.heads + head) * d;
      for (int c = 0; c < d; ++c) to[c] = T(sum == 0 ? 0.0f : o[c] / sum);
      t.lse[head * std::int64_t{shape.q_tokens} + token] = largest + std::log(sum);
    }
  }
}

}  // namespace prefill
