// Time stamps inside of a Hopper rung that knows nothing of them. A rung is a template over its
// tile: in Stamped<Tile> it is the same kernel, and what it calls notes the time on the way. Its
// own machine code, in Tile, stays what it is.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/kit/attention_tile.cuh"

namespace attention {

// What a warpgroup does with a tile of keys and values, when.
enum Moment {
  kWantsK,        // all before is done: it asks for the next K
  kIssuesScores,  // K is here, and the turn is its own: it issues Q K^T
  kHasScores,     // it has waited for the scores
  kWantsV,        // it asks for V
  kHasOutput,     // it has waited for O += P V
  kMoments
};

// What a run leaves: clocks of the SM, [block][warpgroup][tile][moment].
struct StampTable {
  long long* clocks;
  int warpgroups, tiles;

  __host__ __device__ std::int64_t place(int block, int warpgroup, int tile) const {
    return ((static_cast<std::int64_t>(block) * warpgroups + warpgroup) * tiles + tile) * kMoments;
  }
};
__constant__ StampTable stamp_table;

template <class Tile>
struct Stamped : Tile {};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// One thread of a warpgroup takes the time for all.
__device__ __forceinline__ void stamp(int tile, Moment moment, long long clock) {
  if (threadIdx.x % 128 != 0) return;
  const int warpgroup = static_cast<int>(threadIdx.x) / 128 - 1;
  stamp_table.clocks[stamp_table.place(blockIdx.x, warpgroup, tile) + moment] = clock;
}

// Where issue_scores, which does not know the number of its tile, leaves the time until release_k.
__device__ __forceinline__ long long& scores_issued() {
  __shared__ long long clocks[3];
  return clocks[threadIdx.x / 128 - 1];
}
#endif

template <class Tile>
struct KvPipeline<Stamped<Tile>> : KvPipeline<Tile> {
  using Base = KvPipeline<Tile>;
  struct State : Base::State {
    int tile = 0;  // how many came before
  };

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static __device__ __forceinline__ State begin() { return {}; }

  __device__ __forceinline__ void wait_k(const State& at) {
    stamp(at.tile, kWantsK, clock64());
    Base::wait_k(at);
  }
  __device__ __forceinline__ void release_k(State& at) {
    stamp(at.tile, kHasScores, clock64());
    if (threadIdx.x % 128 == 0) stamp(at.tile, kIssuesScores, scores_issued());
    Base::release_k(at);
    ++at.tile;
  }
  __device__ __forceinline__ void wait_v(const State& at) {
    stamp(at.tile, kWantsV, clock64());
    Base::wait_v(at);
  }
  __device__ __forceinline__ void release_v(State& at) {
    stamp(at.tile, kHasOutput, clock64());
    Base::release_v(at);
    ++at.tile;
  }
#endif
};

// The tile of `ping_pong` and `gemm_softmax_overlap` at d = 128, in bf16.
using TurnsTile = AttentionTile<__nv_bfloat16, 128, 2, 128, 2>;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
template <>
__device__ __forceinline__ void issue_scores<Stamped<TurnsTile>>(float (&s)[TurnsTile::kTileN / 2],
                                                                 const unsigned char* q,
                                                                 const unsigned char* k) {
  if (threadIdx.x % 128 == 0) scores_issued() = clock64();
  issue_scores<TurnsTile>(s, q, k);
}
#endif

}  // namespace attention
