// Attention of one query on the host, its keys in parts: how two parts are merged.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "07_flash_attention/shape.hpp"

namespace ring_attention {

// region merge
// Merges a part into o and lse, which are those of other keys. What a part counts for is the sum
// of its exponentials, exp(lse); without keys that is 0.
inline void merge(std::vector<float>& o, float& lse, const std::vector<float>& o_part,
                  float lse_part) {
  const float largest = std::max(lse, lse_part);
  if (largest == -HUGE_VALF) return;
  const float sum = std::exp(lse - largest) + std::exp(lse_part - largest);
  const float both = largest + std::log(sum);
  const float weight = std::exp(lse - both), weight_part = std::exp(lse_part - both);
  for (std::size_t c = 0; c < o.size(); ++c) o[c] = weight * o[c] + weight_part * o_part[c];
  lse = both;
}
// endregion

// o = attention of query q with `count` keys; returns their log-sum-exp. weights: room for as many.
template <class T>
float attend(const T* q, const T* k, const T* v, std::int64_t count, float scale,
             std::vector<float>& weights, std::vector<float>& o) {
  const auto d = static_cast<std::int64_t>(o.size());
  const auto number = [](T x) { return static_cast<float>(x); };
  float largest = -HUGE_VALF, sum = 0;
  for (std::int64_t j = 0; j < count; ++j) {
    float score = 0;
    for (std::int64_t c = 0; c < d; ++c) score += number(q[c]) * number(k[j * d + c]);
    weights[j] = scale * score;
    largest = std::max(largest, weights[j]);
  }
  for (std::int64_t j = 0; j < count; ++j) sum += weights[j] = std::exp(weights[j] - largest);
  std::fill(o.begin(), o.end(), 0.0f);
  for (std::int64_t j = 0; j < count; ++j) {
    const float weight = weights[j] / sum;
    for (std::int64_t c = 0; c < d; ++c) o[c] += weight * number(v[j * d + c]);
  }
  return largest + std::log(sum);
}

// Row `row` of all, its keys in parts of `part_keys`. Host pointers; shapes as Shape says.
template <class T>
void attend_in_parts(const attention::Shape& shape, const attention::Tensors<T>& t,
                     std::int64_t row, std::int64_t part_keys) {
  const std::int64_t head = row / shape.n_q, keys = shape.visible(row % shape.n_q);
  std::vector<float> weights(part_keys), o(shape.d, 0.0f), o_part(shape.d);
  float lse = -HUGE_VALF;
  for (std::int64_t first = 0; first < keys; first += part_keys) {
    const std::int64_t at = (head * shape.n_k + first) * shape.d;
    const float lse_part =
        attend(t.q + row * shape.d, t.k + at, t.v + at, std::min(part_keys, keys - first),
               shape.scale(), weights, o_part);
    merge(o, lse, o_part, lse_part);
  }
  for (int c = 0; c < shape.d; ++c) t.o[row * shape.d + c] = T(o[c]);
  t.lse[row] = lse;
}

}  // namespace ring_attention
