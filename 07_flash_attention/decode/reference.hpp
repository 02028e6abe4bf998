// What every result is compared with (bounded_reference.hpp): for each row the keys that it sees,
// and where they lie.
#pragma once

#include <algorithm>
#include <cstdint>

#include "07_flash_attention/bounded_reference.hpp"
#include "07_flash_attention/decode/shape.hpp"
#include "07_flash_attention/sampled_rows.hpp"

namespace decode {

using Reference = attention::BoundedReference;

// The most bytes that a Reference takes: of each row its number, d + 1 values and as many bounds.
inline double reference_bytes(const Shape& shape, double most_pairs) {
  const double rows = std::min<double>(shape.rows(), most_pairs / shape.n + 2);
  return sizeof(double) * rows * (2 * (shape.d + 1) + 2);
}

// All rows, or as many as most_pairs allows, pairs of a query and a key that may be looked at: the
// first, the last and random ones. Host pointers; uses all cores.
template <class T>
Reference compute_reference(const Shape& shape, const Tensors<T>& t, const Cache& cache,
                            double most_pairs) {
  const std::int64_t all = shape.rows();
  Reference known(attention::sampled_rows(all, most_pairs / shape.n, {0, all - 1}), shape.d);
  const auto count = static_cast<std::int64_t>(known.o.rows.size());
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = known.o.rows[i], sequence = row / shape.heads;
    known.compute(i, shape.d, t.q + row * shape.d, t.k, t.v, cache.first(sequence),
                  cache.end(sequence),
                  [&](int key) { return cache.row(shape, row / shape.group(), key); });
  }
  return known;
}

}  // namespace decode
