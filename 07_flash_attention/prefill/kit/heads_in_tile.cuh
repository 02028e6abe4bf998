// How many heads lie side by side in a tile of queries.
#pragma once

#include "07_flash_attention/prefill/shape.hpp"

namespace prefill {

// As a power of two that divides a group: its logarithm.
inline int log2_of_heads(const Shape& shape) {
  int log2_heads = 0;
  while (log2_heads < 3 && shape.group() % (2 << log2_heads) == 0) ++log2_heads;
  return log2_heads;
}

}  // namespace prefill
