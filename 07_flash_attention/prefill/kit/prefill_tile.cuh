// The tiles of a block on Hopper: those of the forward pass. The producer gets more registers than
// there, for it has more to remember: where a sequence begins, and where it ends.
#pragma once

#include "07_flash_attention/kit/attention_tile.cuh"

namespace prefill {

template <class T, int kD>
struct PrefillTile
    : attention::AttentionTile<T, kD, kD == 64 ? 3 : 2, kD == 256 ? 64 : 128, kD == 64 ? 3 : 2> {
  static constexpr int kProducerRegisters = 32, kConsumerRegisters = kD == 64 ? 160 : 232;
};

}  // namespace prefill
