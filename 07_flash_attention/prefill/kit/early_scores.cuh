// What a block of early_scores keeps in shared memory: queries, what is told of them, and the rings
// of keys and values. And rows without keys.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/kit/attention_tile.cuh"
#include "07_flash_attention/kit/persistent_shared.cuh"
#include "07_flash_attention/prefill/kit/clipped_maps.cuh"
#include "07_flash_attention/prefill/shape.hpp"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/tma.cuh"

namespace prefill {

// Queries of a sequence from its query `first_query` on, of the heads from `head` on; -1: there are
// no more.
struct alignas(16) Work {
  Sequence sequence;
  int first_query, head, unused[2];
};

// With d = 64 there is room for two tiles of queries. With d = 128 one is enough, for it goes on to
// registers; with d = 256 there is no room for more. Begins at a multiple of 1024 bytes.
template <class Tile>
struct EarlyShared {
  static constexpr int kQStages = Tile::kD == 64 ? 2 : 1;
  using QState = attention::RingState<kQStages>;

  unsigned char q[kQStages][Tile::kQBytes];
  unsigned char o[Tile::kTileM * attention::kOColumns<Tile> * 2];
  attention::KvPipeline<Tile> kv;
  std::uint64_t q_full[kQStages], q_empty[kQStages];
  // Those whose results leave, whose scores are computed, and that come next: the producer may be
  // two tiles ahead.
  static constexpr int kWork = 4;
  Work work[kWork];

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  // By one thread, before a barrier of the block.
  __device__ __forceinline__ void init() {
    kit::init_stages(q_full, q_empty, Tile::kConsumerWarps);
    kv.init();
    ptx::fence_mbarrier_init();
  }

  // The producer's: `heads` heads from `head` on of the tokens from `first` on, of which `count`
  // belong to the sequence.
  __device__ __forceinline__ void issue_q(const attention::AttentionMaps& maps, QState& at,
                                          int head, int first, int count, int heads) {
    std::uint64_t* const full = &q_full[at.stage];
    const ClippedBox box = clipped_box(Tile::kTileM / heads, first, count);
    ptx::mbarrier_arrive_expect_tx(full, Tile::kQBytes);
    ptx::tensor_load(q[at.stage], &maps.q, 0, head, box.row, 0, box.behind, full);
    at.next();
  }
#endif
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// Rows of O that see no key become 0, whatever values their weights of 0 met: 0 times NaN is NaN.
// queries: those of a lane's two rows. By whole warps.
template <int N>
__device__ __forceinline__ void clear_without_keys(float (&o)[N], const Visibility& seen,
                                                   const int (&queries)[2]) {
  bool has_none[2];
  for (int r = 0; r < 2; ++r) {
    const KeyRange keys = seen.keys(queries[r]);
    has_none[r] = keys.begin == keys.end;
  }
  if (!__any_sync(0xffffffffu, has_none[0] || has_none[1])) return;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (has_none[attention::OnlineSoftmax::row_of(i)]) o[i] = 0;
  }
}
#endif

}  // namespace prefill
