// The tiles of a block on Hopper: those of the forward pass. The producer gets more registers than
// there, for it has more to remember: where a sequence begins, and where it ends.
#pragma once

#include "07_flash_attention/kit/attention_tile.cuh"
#include "07_flash_attention/prefill/shape.hpp"

namespace prefill {

template <class T, int kD>
struct PrefillTile
    : attention::AttentionTile<T, kD, kD == 64 ? 3 : 2, kD == 256 ? 64 : 128, kD == 64 ? 3 : 2> {
  static constexpr int kProducerRegisters = 32, kConsumerRegisters = kD == 64 ? 160 : 232;
};

// With d = 64, for short sequences: O is small, so four warpgroups fit, with small tiles of keys.
template <class T>
using ShortTile = attention::AttentionTile<T, 64, 4, 64, 4>;

// Whether sequences are that short, as far as the host knows: no longer than 1,024 queries, nor, on
// average, 1,024 keys.
inline bool are_short(const Shape& shape) {
  return shape.longest <= 1024 && shape.k_tokens / shape.batch <= 1024;
}

}  // namespace prefill
