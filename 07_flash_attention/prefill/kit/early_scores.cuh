// What a block of early_scores is told of its queries, and how these come.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/kit/attention_tile.cuh"
#include "07_flash_attention/kit/early_scores.cuh"
#include "07_flash_attention/prefill/kit/clipped_maps.cuh"
#include "07_flash_attention/prefill/shape.hpp"
#include "common/kit/ptx/tma.cuh"

namespace prefill {

// Queries of a sequence from its query `first_query` on, of the heads from `head` on; -1: there are
// no more.
struct alignas(16) Work {
  Sequence sequence;
  int first_query, head, unused[2];
};

template <class Tile>
struct EarlyShared : attention::EarlyShared<Tile, Work> {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  // The producer's: `heads` heads from `head` on of the tokens from `first` on, of which `count`
  // belong to the sequence.
  __device__ __forceinline__ void issue_q(const attention::AttentionMaps& maps,
                                          typename EarlyShared::QState& at, int head, int first,
                                          int count, int heads) {
    std::uint64_t* const full = &this->q_full[at.stage];
    const ClippedBox box = clipped_box(Tile::kTileM / heads, first, count);
    ptx::mbarrier_arrive_expect_tx(full, Tile::kQBytes);
    ptx::tensor_load(this->q[at.stage], &maps.q, 0, head, box.row, 0, box.behind, full);
    at.next();
  }
#endif
};

// Whether all sequences have as many queries, and these fill tiles of so many.
inline bool fills_tiles(const Shape& shape, int queries) {
  return shape.longest % queries == 0 &&
         std::int64_t{shape.longest} * shape.batch == shape.q_tokens;
}

}  // namespace prefill
