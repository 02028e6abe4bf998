// sequential: the keys in parts, and the parts merged.
//
// Softmax wants the sum over all keys. But each part of them can be done by itself, if its
// log-sum-exp is kept beside its output: that says how much the part counts. So parts may come one
// after the other, from anywhere. What is still wrong: one core.
#pragma once

#include <cstdint>

#include "07_flash_attention/ring/kit/parts.hpp"
#include "07_flash_attention/shape.hpp"

namespace ring_attention {

// Host pointers; shapes as Shape says. parts: as many as there are devices.
template <class T>
void sequential(const attention::Shape& shape, const attention::Tensors<T>& t, int parts) {
  const std::int64_t part_keys = (shape.n_k + parts - 1) / parts;
  for (std::int64_t row = 0; row < shape.rows(); ++row) attend_in_parts(shape, t, row, part_keys);
}

}  // namespace ring_attention
