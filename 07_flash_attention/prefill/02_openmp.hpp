// openmp: the rows of all sequences divided among the cores.
//
// Rows of a long sequence have more to do than those of a short one, so they are handed out as
// cores become free. The softmax is computed as the keys pass by (rung online of the forward pass),
// and `omp simd` lets the compiler add up a dot product in an order of its own. What is still
// wrong: a CPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "07_flash_attention/prefill/shape.hpp"

namespace prefill {

// Host pointers.
template <class T>
void openmp(const Shape& shape, const Tensors<T>& t, const Starts& starts) {
  const int d = shape.d, group = shape.group();
  const auto convert = [d](const T* from, float* to) {
    for (int c = 0; c < d; ++c) to[c] = static_cast<float>(from[c]);
  };
#pragma omp parallel
  {
    std::vector<float> q(d), o(d), k(d), v(d);
    for (int i = 0; i < shape.batch; ++i) {
      const Sequence sequence = starts.sequence(i);
      const std::int64_t rows = std::int64_t{sequence.n_q} * shape.heads;
#pragma omp for schedule(dynamic, 16) nowait
      for (std::int64_t row = 0; row < rows; ++row) {
        const int query = static_cast<int>(row / shape.heads), head = row % shape.heads;
        const std::int64_t token = sequence.first_q + query, at = token * shape.heads + head;
        const KeyRange keys = shape.visibility(sequence).keys(query);
        convert(t.q + at * d, q.data());
        o.assign(d, 0.0f);
        float largest = -INFINITY, sum = 0;
        for (int j = keys.begin; j < keys.end; ++j) {
          const std::int64_t key =
              std::int64_t{sequence.first_k + j} * shape.kv_heads + head / group;
          convert(t.k + key * d, k.data());
          convert(t.v + key * d, v.data());
          float score = 0;
#pragma omp simd reduction(+ : score)
          for (int c = 0; c < d; ++c) score += q[c] * k[c];
          score *= shape.scale();
          // Only a new largest score changes the scale of what was added up.
          const float shrink = score > largest ? std::exp(largest - score) : 1.0f;
          largest = std::fmax(largest, score);
          const float weight = std::exp(score - largest);
          sum = sum * shrink + weight;
          for (int c = 0; c < d; ++c) o[c] = o[c] * shrink + weight * v[c];
        }
        for (int c = 0; c < d; ++c) t.o[at * d + c] = T(sum == 0 ? 0.0f : o[c] / sum);
        t.lse[head * std::int64_t{shape.q_tokens} + token] = largest + std::log(sum);
      }
    }
  }
}

}  // namespace prefill
