// openmp: the queries divided among the cores.
//
// No query has anything to do with another one. A causal row's work depends on its place, so rows
// are handed out as cores become free. What is still wrong: the memory of one CPU, where GPUs have
// one each.
#pragma once

#include <cstdint>

#include "07_flash_attention/ring/kit/parts.hpp"
#include "07_flash_attention/shape.hpp"

namespace ring_attention {

// Host pointers; shapes as Shape says. Uses omp_get_max_threads() threads.
template <class T>
void openmp(const attention::Shape& shape, const attention::Tensors<T>& t, int parts) {
  const std::int64_t part_keys = (shape.n_k + parts - 1) / parts;
#pragma omp parallel for schedule(dynamic, 8)
  for (std::int64_t row = 0; row < shape.rows(); ++row) attend_in_parts(shape, t, row, part_keys);
}

}  // namespace ring_attention
