// openmp: all cores, and vector instructions for the scores.
//
// Rows are independent, so all cores share them; a causal row's work depends on its place, so they
// are handed out as cores become free. `omp simd` lets the compiler add the products of a score in
// an order of its own, without which it may not use vector instructions for them. What is still
// wrong: every query reads all keys and all values anew.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "07_flash_attention/shape.hpp"

namespace attention {

// Host pointers; shapes as Shape says. Uses omp_get_max_threads() threads.
inline void openmp(const Shape& shape, const Tensors<float>& t) {
  const int d = shape.d;
#pragma omp parallel
  {
    std::vector<float> p(shape.n_k);
#pragma omp for schedule(dynamic, 8)
    for (std::int64_t row = 0; row < shape.rows(); ++row) {
      const std::int64_t head = row / shape.n_q;
      const std::int64_t keys = shape.visible(row % shape.n_q);
      const float* q = t.q + row * d;
      const float* k = t.k + head * shape.n_k * d;
      const float* v = t.v + head * shape.n_k * d;

      float row_max = -HUGE_VALF;
      for (std::int64_t j = 0; j < keys; ++j) {
        float score = 0;
#pragma omp simd reduction(+ : score)
        for (int c = 0; c < d; ++c) score += q[c] * k[j * d + c];
        p[j] = shape.scale() * score;
        row_max = std::max(row_max, p[j]);
      }
      float sum = 0;
      for (std::int64_t j = 0; j < keys; ++j) sum += p[j] = std::exp(p[j] - row_max);

      float* o = t.o + row * d;
      std::fill(o, o + d, 0.0f);
      for (std::int64_t j = 0; j < keys; ++j) {
        const float weight = p[j] / sum;
        for (int c = 0; c < d; ++c) o[c] += weight * v[j * d + c];
      }
      t.lse[row] = row_max + std::log(sum);
    }
  }
}

}  // namespace attention
