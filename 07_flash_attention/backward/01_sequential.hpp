// sequential: the definition, one pair of a query and a key after the other.
//
// The forward pass left O and the log-sum-exp, so a weight is one exponential away:
// P = exp(S - lse). Its gradient is dP = dO V^T, that of its score dS = P (dP - D): all weights of
// a row sum to 1, so a row takes back the mean of its dP. That mean, the sum of P dP, is dO O,
// since O is the sum of P V. Then dV += P dO, dQ += dS K and dK += dS Q: five products where
// forward has two.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "07_flash_attention/backward/shape.hpp"

namespace backward {

// The sum of d products of x and y.
template <class T>
float dot(const T* x, const T* y, int d) {
  float sum = 0;
  for (int c = 0; c < d; ++c) sum += static_cast<float>(x[c]) * static_cast<float>(y[c]);
  return sum;
}

// Host pointers.
template <class T>
void sequential(const Shape& shape, const Tensors<T>& t) {
  const int d = shape.d;
  const float scale = shape.scale();
  const auto to_float = [](T x) { return static_cast<float>(x); };
  std::vector<float> dq(d), dk(shape.n_k * d), dv(shape.n_k * d);
  for (std::int64_t head = 0; head < shape.all_heads(); ++head) {
    const std::int64_t first_key = head / shape.group() * shape.n_k;
    if (head % shape.group() == 0) {
      std::fill(dk.begin(), dk.end(), 0.0f);
      std::fill(dv.begin(), dv.end(), 0.0f);
    }
    for (int i = 0; i < shape.n_q; ++i) {
      const std::int64_t row = head * shape.n_q + i;
      const T *q = t.q + row * d, *d_o = t.d_o + row * d;
      const float delta = dot(d_o, t.o + row * d, d);
      std::fill(dq.begin(), dq.end(), 0.0f);
      for (int j = 0; j < shape.visible(i); ++j) {
        const T *k = t.k + (first_key + j) * d, *v = t.v + (first_key + j) * d;
        const float p = std::exp(scale * dot(q, k, d) - t.lse[row]);
        const float ds = scale * p * (dot(d_o, v, d) - delta);
        for (int c = 0; c < d; ++c) {
          dv[j * d + c] += p * to_float(d_o[c]);
          dk[j * d + c] += ds * to_float(q[c]);
          dq[c] += ds * to_float(k[c]);
        }
      }
      for (int c = 0; c < d; ++c) t.dq[row * d + c] = T(dq[c]);
    }
    if (head % shape.group() + 1 < shape.group()) continue;
    for (int i = 0; i < shape.n_k * d; ++i) {
      t.dk[first_key * d + i] = T(dk[i]);
      t.dv[first_key * d + i] = T(dv[i]);
    }
  }
}

}  // namespace backward
