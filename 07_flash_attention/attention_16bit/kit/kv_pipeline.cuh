// How K and V come to the warps that compute: two rings of stages in shared memory, filled by TMA.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/attention_16bit/kit/tensor_maps.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/mbarrier.cuh"
#include "common/kit/ptx/tma.cuh"

namespace attention {

// In shared memory. A stage is full when TMA has delivered all bytes, and empty again when every
// warp that computes has released it.
template <class Tile>
struct KvPipeline {
  using State = kit::PipelineState<Tile::kStages>;

  unsigned char k[Tile::kStages][Tile::kKvBytes];
  unsigned char v[Tile::kStages][Tile::kKvBytes];
  std::uint64_t k_full[Tile::kStages], k_empty[Tile::kStages];
  std::uint64_t v_full[Tile::kStages], v_empty[Tile::kStages];

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  // By one thread, before fence_mbarrier_init() and a barrier of the block.
  __device__ __forceinline__ void init() {
    for (int s = 0; s < Tile::kStages; ++s) {
      ptx::mbarrier_init(&k_full[s], 1);
      ptx::mbarrier_init(&v_full[s], 1);
      ptx::mbarrier_init(&k_empty[s], Tile::kConsumerWarps);
      ptx::mbarrier_init(&v_empty[s], Tile::kConsumerWarps);
    }
  }

  // Where producer and consumers begin.
  static __device__ __forceinline__ State begin() { return {}; }

  // The consumers': the tile of K, or of V, is here; a warp has no more use for it.
  __device__ __forceinline__ void wait_k(const State& at) { kit::wait_full(k_full, at); }
  __device__ __forceinline__ void wait_v(const State& at) { kit::wait_full(v_full, at); }
  __device__ __forceinline__ void release_k(State& at) {
    kit::release(&k_empty[at.stage]);
    at.advance();
  }
  __device__ __forceinline__ void release_v(State& at) {
    kit::release(&v_empty[at.stage]);
    at.advance();
  }

  // region issue
  // The producer's part in a tile of queries: the first `tiles` tiles of keys and values of a head,
  // the last one first, each as soon as its stage is empty. K(n - 1) goes before V(n): its scores
  // are wanted first. Calls before_last() when only the last V is left to issue. By one thread.
  template <class BeforeLast>
  __device__ __forceinline__ void issue(const TensorMaps& maps, State& k_at, State& v_at, int head,
                                        int tiles, BeforeLast before_last) {
    const auto issue_tile = [&](const CUtensorMap& map, auto& to, auto& full, auto& empty,
                                State& at, int tile) {
      kit::wait_empty(empty, at);
      // What threads have read comes before what TMA, another proxy, writes.
      if constexpr (Tile::kReadByThreads) ptx::fence_proxy_async();
      ptx::mbarrier_arrive_expect_tx(&full[at.stage], Tile::kKvBytes);
      ptx::tensor_load(to[at.stage], &map, 0, tile * Tile::kTileN, 0, head, &full[at.stage]);
      at.advance();
    };
    const auto issue_k = [&](int tile) { issue_tile(maps.k, k, k_full, k_empty, k_at, tile); };
    const auto issue_v = [&](int tile) { issue_tile(maps.v, v, v_full, v_empty, v_at, tile); };
    if (tiles > 0) issue_k(tiles - 1);
    for (int tile = tiles - 1; tile > 0; --tile) {
      issue_k(tile - 1);
      issue_v(tile);
    }
    before_last();
    if (tiles > 0) issue_v(0);
  }
  // endregion
#endif
};

// All that a block keeps in shared memory that has one tile of queries: they come once, so their
// buffer needs no `empty`.
template <class Tile>
struct BlockShared {
  unsigned char q[Tile::kQBytes];
  KvPipeline<Tile> kv;
  std::uint64_t q_full;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  // By one thread, before a barrier of the block.
  __device__ __forceinline__ void init() {
    ptx::mbarrier_init(&q_full, 1);
    kv.init();
    ptx::fence_mbarrier_init();
  }
  __device__ __forceinline__ void issue_q(const TensorMaps& maps, int first_query, int head) {
    ptx::mbarrier_arrive_expect_tx(&q_full, Tile::kQBytes);
    ptx::tensor_load(q, &maps.q, 0, first_query, 0, head, &q_full);
  }
  __device__ __forceinline__ void wait_q() { kit::wait(&q_full, 0); }
#endif
};

}  // namespace attention
