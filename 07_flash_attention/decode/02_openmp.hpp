// openmp: all cores, each with K/V heads of its own; a key that was loaded serves all
// queries that share it.
//
// The softmax is computed as the keys pass by (the largest score so far, the sum of weights, the
// weighted sum of values, as in rung online of the forward pass), so a key and its value are
// visited together, once. `omp simd` lets the compiler add up a dot product in an order of its own.
// What is still wrong: a CPU's memory.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "07_flash_attention/decode/shape.hpp"

namespace decode {

// Host pointers.
template <class T>
void openmp(const Shape& shape, const Tensors<T>& t, const Cache& cache) {
  const int d = shape.d, group = shape.group();
  const auto convert = [d](const T* from, float* to) {
    for (int c = 0; c < d; ++c) to[c] = static_cast<float>(from[c]);
  };
#pragma omp parallel
  {
    std::vector<float> q(group * d), o(group * d), largest(group), sum(group), k(d), v(d);
#pragma omp for schedule(dynamic)
    for (std::int64_t head = 0; head < shape.all_kv_heads(); ++head) {
      const std::int64_t first_row = head * group, sequence = head / shape.kv_heads;
      for (int g = 0; g < group; ++g) convert(t.q + (first_row + g) * d, &q[g * d]);
      o.assign(group * d, 0.0f);
      largest.assign(group, -INFINITY);
      sum.assign(group, 0.0f);
      for (int j = cache.first(sequence); j < cache.end(sequence); ++j) {
        const std::int64_t row = cache.row(shape, head, j);
        convert(t.k + row * d, k.data());
        convert(t.v + row * d, v.data());
        for (int g = 0; g < group; ++g) {
          float score = 0;
#pragma omp simd reduction(+ : score)
          for (int c = 0; c < d; ++c) score += q[g * d + c] * k[c];
          score *= shape.scale();
          // Only a new largest score changes the scale of what was added up.
          const float shrink = score > largest[g] ? std::exp(largest[g] - score) : 1.0f;
          largest[g] = std::fmax(largest[g], score);
          const float weight = std::exp(score - largest[g]);
          sum[g] = sum[g] * shrink + weight;
          for (int c = 0; c < d; ++c) o[g * d + c] = o[g * d + c] * shrink + weight * v[c];
        }
      }
      for (int g = 0; g < group; ++g) {
        T* to = t.o + (first_row + g) * d;
        for (int c = 0; c < d; ++c) to[c] = T(sum[g] == 0 ? 0.0f : o[g * d + c] / sum[g]);
        t.lse[first_row + g] = largest[g] + std::log(sum[g]);
      }
    }
  }
}

}  // namespace decode
