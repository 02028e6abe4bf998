// How many heads lie side by side in a tile of queries, and more tiles to choose from.
#pragma once

#include <cstdint>

#include "07_flash_attention/kit/attention_tile.cuh"
#include "07_flash_attention/prefill/shape.hpp"

namespace prefill {

// Whether all sequences have as many queries, and these fill tiles of so many.
inline bool fills_tiles(const Shape& shape, int queries) {
  return shape.longest % queries == 0 &&
         std::int64_t{shape.longest} * shape.batch == shape.q_tokens;
}

// How many heads lie side by side in a tile, as a power of two that divides a group: its logarithm.
inline int log2_of_heads(const Shape& shape) {
  int log2_heads = 0;
  while (log2_heads < 3 && shape.group() % (2 << log2_heads) == 0) ++log2_heads;
  return log2_heads;
}

// With d = 64, for short sequences whose heads share no keys: small tiles of queries.
template <class T>
struct FewQueriesTile : attention::AttentionTile<T, 64, 2, 128, 3> {
  static constexpr int kProducerRegisters = 32, kConsumerRegisters = 232;
};

// With d = 128, for short sequences: small tiles of keys.
template <class T>
struct FewKeysTile : attention::AttentionTile<T, 128, 2, 64, 4> {
  static constexpr int kProducerRegisters = 32, kConsumerRegisters = 232;
};

}  // namespace prefill
