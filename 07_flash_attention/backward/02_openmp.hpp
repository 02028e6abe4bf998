// openmp: all cores, each with rows of its own.
//
// A query adds to dK and dV of every key it sees, and a core must not add where another one does.
// So there are two loops: one over queries, which own a row of dQ, and one over keys, which own a
// row of dK and of dV. Both need the weights and compute them anew, seven products instead of five.
// `omp simd` lets the compiler add up a dot product in an order of its own. What is still wrong:
// every row reads all rows of the other kind.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "07_flash_attention/backward/shape.hpp"

namespace backward {

template <class T>
float dot_simd(const T* x, const T* y, int d) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int c = 0; c < d; ++c) sum += static_cast<float>(x[c]) * static_cast<float>(y[c]);
  return sum;
}

// sum += factor x
template <class T>
void add_row(std::vector<float>& sum, float factor, const T* x) {
  for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += factor * static_cast<float>(x[c]);
}

// Host pointers.
template <class T>
void openmp(const Shape& shape, const Tensors<T>& t) {
  const int d = shape.d;
  const float scale = shape.scale();
  std::vector<float> delta(shape.rows());
  const auto weight = [&](std::int64_t row, std::int64_t key) {
    return std::exp(scale * dot_simd(t.q + row * d, t.k + key * d, d) - t.lse[row]);
  };
  const auto score_gradient = [&](std::int64_t row, std::int64_t key, float p) {
    return scale * p * (dot_simd(t.d_o + row * d, t.v + key * d, d) - delta[row]);
  };
#pragma omp parallel
  {
    std::vector<float> dq(d), dk(d), dv(d);
#pragma omp for schedule(dynamic, 8)
    for (std::int64_t row = 0; row < shape.rows(); ++row) {
      const std::int64_t first_key = row / shape.n_q / shape.group() * shape.n_k;
      delta[row] = dot_simd(t.d_o + row * d, t.o + row * d, d);
      dq.assign(d, 0.0f);
      for (int j = 0; j < shape.visible(static_cast<int>(row % shape.n_q)); ++j) {
        const std::int64_t key = first_key + j;
        add_row(dq, score_gradient(row, key, weight(row, key)), t.k + key * d);
      }
      for (int c = 0; c < d; ++c) t.dq[row * d + c] = T(dq[c]);
    }
#pragma omp for schedule(dynamic, 8)
    for (std::int64_t key = 0; key < shape.keys(); ++key) {
      const std::int64_t first_head = key / shape.n_k * shape.group();
      dk.assign(d, 0.0f);
      dv.assign(d, 0.0f);
      for (std::int64_t head = first_head; head < first_head + shape.group(); ++head) {
        for (int i = shape.first_row(static_cast<int>(key % shape.n_k)); i < shape.n_q; ++i) {
          const std::int64_t row = head * shape.n_q + i;
          const float p = weight(row, key);
          add_row(dv, p, t.d_o + row * d);
          add_row(dk, score_gradient(row, key, p), t.q + row * d);
        }
      }
      for (int c = 0; c < d; ++c) {
        t.dk[key * d + c] = T(dk[c]);
        t.dv[key * d + c] = T(dv[c]);
      }
    }
  }
}

}  // namespace backward
