// What every result is compared with (bounded_reference.hpp): for each row its sequence, the keys
// that it sees, and where they lie.
#pragma once

#include <algorithm>
#include <cstdint>

#include "07_flash_attention/bounded_reference.hpp"
#include "07_flash_attention/prefill/shape.hpp"
#include "07_flash_attention/sampled_rows.hpp"

namespace prefill {

// Row token x heads + head. All rows, or as many as are affordable: the first, the last and random
// ones.
using Reference = attention::BoundedReference;

// Host pointers; uses all cores.
template <class T>
Reference compute_reference(const Shape& shape, const Tensors<T>& t, const Starts& starts,
                            double affordable) {
  const std::int64_t all = shape.rows();
  Reference known(attention::sampled_rows(all, affordable, {0, all - 1}), shape.d);
  const auto count = static_cast<std::int64_t>(known.o.rows.size());
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = known.o.rows[i];
    const int token = static_cast<int>(row / shape.heads), head = row % shape.heads;
    // The last sequence that begins at the token or before: those before it there are empty.
    const int* after = std::upper_bound(starts.q, starts.q + shape.batch + 1, token);
    const Sequence sequence = starts.sequence(static_cast<int>(after - starts.q) - 1);
    const KeyRange keys = shape.visibility(sequence).keys(token - sequence.first_q);
    known.compute(i, shape.d, t.q + row * shape.d, t.k, t.v, keys.begin, keys.end, [&](int key) {
      return std::int64_t{sequence.first_k + key} * shape.kv_heads + head / shape.group();
    });
  }
  return known;
}

}  // namespace prefill
