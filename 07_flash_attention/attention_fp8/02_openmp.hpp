// openmp: rows over all cores, and bytes turned into numbers once for many rows.
//
// A core takes rows of one head together: what it converts of K and V serves all of them. The
// softmax is computed as the keys pass by (rung online of attention in fp32), so no row of scores
// has to be kept. What is still wrong: a CPU.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "07_flash_attention/attention_fp8/tensors.cuh"
#include "07_flash_attention/shape.hpp"

namespace attention::fp8 {

// Host pointers; d = 128.
inline void openmp(const Shape& shape, const Tensors8& t) {
  constexpr int kRows = 32;
  struct Row {
    float q[kHeadDim], o[kHeadDim] = {}, largest = -INFINITY, sum = 0;
  };
  const auto convert = [](const E4m3* from, float factor, float* to) {
    for (int c = 0; c < kHeadDim; ++c) to[c] = factor * static_cast<float>(from[c]);
  };
  const std::int64_t parts = (shape.n_q + kRows - 1) / kRows;
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t i = 0; i < shape.all_heads() * parts; ++i) {
    const std::int64_t head = i / parts, first = i % parts * kRows;
    const std::int64_t end = std::min(first + kRows, shape.n_q);
    const float scale = shape.scale() * t.scale_q[head] * t.scale_k[head];
    std::vector<Row> rows(end - first);
    for (std::int64_t row = first; row < end; ++row) {
      convert(t.q + (head * shape.n_q + row) * kHeadDim, scale, rows[row - first].q);
    }
    for (std::int64_t j = 0; j < shape.visible(end - 1); ++j) {
      float k[kHeadDim], v[kHeadDim];
      convert(t.k + (head * shape.n_k + j) * kHeadDim, 1, k);
      convert(t.v + (head * shape.n_k + j) * kHeadDim, t.scale_v[head], v);
      for (std::int64_t row = first; row < end; ++row) {
        if (j >= shape.visible(row)) continue;
        Row& r = rows[row - first];
        float score = 0;
#pragma omp simd reduction(+ : score)
        for (int c = 0; c < kHeadDim; ++c) score += r.q[c] * k[c];
        // Only a new largest score changes the scale of what was added up.
        const float shrink = score > r.largest ? std::exp(r.largest - score) : 1.0f;
        r.largest = std::fmax(r.largest, score);
        const float weight = std::exp(score - r.largest);
        r.sum = r.sum * shrink + weight;
        for (int c = 0; c < kHeadDim; ++c) r.o[c] = r.o[c] * shrink + weight * v[c];
      }
    }
    for (std::int64_t row = first; row < end; ++row) {
      const Row& r = rows[row - first];
      const std::int64_t at = head * shape.n_q + row;
      for (int c = 0; c < kHeadDim; ++c) {
        t.o[at * kHeadDim + c] = __float2bfloat16(r.sum == 0 ? 0.0f : r.o[c] / r.sum);
      }
      t.lse[at] = r.largest + std::log(r.sum);
    }
  }
}

}  // namespace attention::fp8
