// sequential: the definition, row by row, from bytes and scales.
//
// The scores of a row, their softmax, and the mean of the values that it weighs. An element of Q, K
// or V is a byte and stands for a number of E4M3 times the scale of its head; of the scales those
// of Q and K join the factor of the scores, and that of V the result. What is still wrong: one
// core.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "07_flash_attention/attention_fp8/tensors.cuh"
#include "07_flash_attention/shape.hpp"

namespace attention::fp8 {

// Host pointers; d = 128.
inline void sequential(const Shape& shape, const Tensors8& t) {
  std::vector<float> weights(shape.n_k), o(kHeadDim);
  for (std::int64_t row = 0; row < shape.rows(); ++row) {
    const std::int64_t head = row / shape.n_q, keys = shape.visible(row % shape.n_q);
    const float scale = shape.scale() * t.scale_q[head] * t.scale_k[head];
    const E4m3* q = t.q + row * kHeadDim;
    float largest = -INFINITY, sum = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      const E4m3* k = t.k + (head * shape.n_k + j) * kHeadDim;
      float score = 0;
      for (int c = 0; c < kHeadDim; ++c) score += float(q[c]) * float(k[c]);
      weights[j] = score *= scale;
      largest = std::max(largest, score);
    }

    o.assign(kHeadDim, 0.0f);
    for (std::int64_t j = 0; j < keys; ++j) {
      const E4m3* v = t.v + (head * shape.n_k + j) * kHeadDim;
      const float weight = std::exp(weights[j] - largest);
      sum += weight;
      for (int c = 0; c < kHeadDim; ++c) o[c] += weight * float(v[c]);
    }
    const float factor = sum > 0 ? t.scale_v[head] / sum : 0.0f;
    for (int c = 0; c < kHeadDim; ++c) {
      t.o[row * kHeadDim + c] = __float2bfloat16(o[c] * factor);
    }
    t.lse[row] = largest + std::log(sum);
  }
}

}  // namespace attention::fp8
