// What the rungs named early_scores have in common: what a block keeps in shared memory, and how
// the rows of a tile of queries end.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/kit/attention_tile.cuh"
#include "07_flash_attention/kit/persistent_shared.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/tma.cuh"

namespace attention {

// The tile of a block. With two warpgroups that compute there are registers to spare for the
// producer, which has more to remember than others.
template <class T, int kD, int kConsumers, int kTileN, int kStages>
struct EarlyTile : AttentionTile<T, kD, kConsumers, kTileN, kStages> {
  static constexpr int kProducerRegisters = kConsumers == 4 ? 24 : 32;
  static constexpr int kConsumerRegisters = kConsumers == 2 ? 232 : kConsumers == 3 ? 160 : 112;
};

// Queries, what is told of them (Work), and the rings of keys and values. With d = 64 there is room
// for two tiles of queries. With d = 128 one is enough, for it goes on to registers; with d = 256
// there is no room for more. Begins at a multiple of 1024 bytes.
template <class Tile, class Work>
struct EarlyShared {
  static constexpr int kQStages = Tile::kD == 64 ? 2 : 1;
  using QState = RingState<kQStages>;

  unsigned char q[kQStages][Tile::kQBytes];
  unsigned char o[Tile::kTileM * kOColumns<Tile> * 2];
  KvPipeline<Tile> kv;
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
#endif
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// region finish
// The end of a lane's two rows, as OnlineSoftmax::finish has it. But 1 / x and log2(x) take one
// instruction each. The usual ones, which round better and accept all numbers, take some fifty
// together.
struct EndOfRows {
  float factor[2], lse[2];

  __device__ __forceinline__ void take(const OnlineSoftmax& rows) {
    for (int r = 0; r < 2; ++r) {
      float total = rows.sum[r];
      total += __shfl_xor_sync(0xffffffffu, total, 1);
      total += __shfl_xor_sync(0xffffffffu, total, 2);
      const bool has_keys = total != 0;  // NaN, too: it must not be hidden
      factor[r] = has_keys ? ptx::rcp(total) : 0;
      lse[r] = has_keys ? (rows.shift[r] + ptx::lg2(total)) * kLn2 : -INFINITY;
    }
  }

  // O is divided by the sums. A row without keys becomes 0, whatever values its weights of 0 met: 0
  // times NaN is NaN. By whole warps.
  template <int N>
  __device__ __forceinline__ void divide(float (&o)[N]) const {
    OnlineSoftmax::rescale(o, factor);
    const bool without_keys[2] = {lse[0] == -INFINITY, lse[1] == -INFINITY};
    if (!__any_sync(0xffffffffu, without_keys[0] || without_keys[1])) return;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (without_keys[OnlineSoftmax::row_of(i)]) o[i] = 0;
    }
  }
};
// endregion
#endif

}  // namespace attention
