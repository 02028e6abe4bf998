// How the rungs on Hopper cut up their work: their tiles, how TMA sees the tensors and fills two
// rings of stages in shared memory with K and V, and the two products of a warpgroup by wgmma.
//
// A tile of R rows and d columns of 16 bits lies as d / 64 slabs, one after the other; a slab is R
// rows of 128 bytes, swizzled as TMA and wgmma both understand it. One TMA instruction brings all
// slabs, since the tensor map shows a head as [d / 64, n, 64].
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/shape.hpp"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"
#include "common/kit/tensor_map.cuh"

namespace attention {

// Where the 16-byte chunk `chunk` of row `row` lies in a tile of slabs with `slab_bytes` each, as
// TMA leaves it.
__device__ __forceinline__ int slab_offset(int row, int chunk, int slab_bytes) {
  return chunk / 8 * slab_bytes + row * 128 + ((chunk % 8 ^ row % 8) * 16);
}

// The four tensors as TMA sees them: 4-D, [heads, d / 64, n, 64] with the contiguous dimension
// last. Rows past the end of a head arrive as zeros, never as rows of the next head, and are not
// stored.
struct AttentionMaps {
  CUtensorMap q, k, v, o;
};

// Boxes of `rows` rows and `slabs` slabs.
template <class T>
CUtensorMap heads_map(const T* base, std::int64_t heads, std::int64_t n, int d, int rows,
                      int slabs) {
  const auto size = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  return kit::tensor_map(
      base, {64, size(n), size(d / 64), size(heads)}, {size(d * 2), 128, size(n * d * 2)},
      {64, static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(slabs), 1});
}

template <class Tile>
AttentionMaps tensor_maps(const Shape& shape, const Tensors<typename Tile::Element>& t) {
  constexpr int kD = Tile::kD;
  const std::int64_t heads = shape.all_heads();
  return {heads_map(t.q, heads, shape.n_q, kD, Tile::kTileM, kD / 64),
          heads_map(t.k, heads, shape.n_k, kD, Tile::kTileN, kD / 64),
          heads_map(t.v, heads, shape.n_k, kD, Tile::kTileN, kD / 64),
          heads_map(t.o, heads, shape.n_q, kD, 64, 1)};
}

// A block for elements of 16 bits: one producer warpgroup and `kConsumers` that compute, with 64
// queries each. Keys and values come in tiles of `kTileN` rows; kStages of either are in shared
// memory at a time.
template <class Element_, int kD_, int kConsumers_, int kTileN_, int kStages_>
struct AttentionTile {
  using Element = Element_;
  static constexpr int kD = kD_, kConsumers = kConsumers_, kTileN = kTileN_, kStages = kStages_;
  static constexpr int kTileM = 64 * kConsumers;
  static constexpr int kConsumerWarps = 4 * kConsumers;
  static constexpr int kThreads = 128 * (1 + kConsumers);
  static constexpr int kQBytes = kTileM * kD * 2;
  static constexpr int kKvBytes = kTileN * kD * 2;
  // The 65536 registers of an SM, as setmaxnreg deals them out: the producer needs few.
  static constexpr int kProducerRegisters = kConsumers == 3 ? 32 : 24;
  static constexpr int kConsumerRegisters = kConsumers == 2 ? 240 : kConsumers == 3 ? 160 : 112;
  static constexpr bool kReadByThreads = false;  // wgmma belongs to TMA's proxy
  static_assert(kConsumers >= 2 && kConsumers <= 4, "the registers are dealt out for these");
  static_assert(kTileN % 16 == 0 && kTileN <= 256, "wgmma multiplies 16 keys at a time");
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Issues s = Q K^T for a warpgroup's 64 queries, both operands from shared memory, as one group.
// q: the first of its rows in the tile of Q. s must not be in use; it holds the scores only after
// the group has been waited for.
template <class Tile>
__device__ __forceinline__ void issue_scores(float (&s)[Tile::kTileN / 2], const unsigned char* q,
                                             const unsigned char* k) {
  const std::uint64_t q_tile = ptx::descriptor_128B(q, 0, 1024);
  const std::uint64_t k_tile = ptx::descriptor_128B(k, 0, 1024);
  ptx::fence_registers(s);
  ptx::wgmma_fence();
#pragma unroll
  for (int c = 0; c < Tile::kD / 16; ++c) {  // 16 columns: 32 bytes of a slab
    const int slab = c / 4, bytes = c % 4 * 32;
    ptx::wgmma<typename Tile::Element>(s, ptx::advance(q_tile, slab * Tile::kTileM * 128 + bytes),
                                       ptx::advance(k_tile, slab * Tile::kTileN * 128 + bytes),
                                       c > 0);
  }
  ptx::wgmma_commit_group();
}

// Issues o += P V (o = P V unless `accumulate`) as one group. P comes from registers. V lies with
// one key a row, which is what wgmma calls MN-major for this operand: no transposition.
template <class Tile>
__device__ __forceinline__ void issue_output(float (&o)[Tile::kD / 2],
                                             std::uint32_t (&p)[Tile::kTileN / 16][4],
                                             const unsigned char* v, bool accumulate) {
  const std::uint64_t v_tile = ptx::descriptor_128B(v, Tile::kTileN * 128, 1024);
  ptx::fence_registers(o);
  ptx::wgmma_fence();
#pragma unroll
  for (int j = 0; j < Tile::kTileN / 16; ++j) {
    ptx::wgmma<typename Tile::Element, 1>(o, p[j], ptx::advance(v_tile, j * 16 * 128),
                                          j > 0 || accumulate);
  }
  ptx::wgmma_commit_group();
}
#endif

// Where somebody is in a ring. next() is written otherwise than in the kit, so that the compiler
// schedules the loop around it otherwise: with the kit's, the last rungs were 1 to 6 % slower on an
// H200.
template <int kStages>
struct RingState : kit::PipelineState<kStages> {
  __device__ __forceinline__ void next() {
    if (++this->stage < kStages) return;
    this->stage = 0;
    this->phase ^= 1;
  }
};

// In shared memory. A stage is full when TMA has delivered all bytes, and empty again when every
// warp that computes has released it.
template <class Tile>
struct KvPipeline {
  using State = RingState<Tile::kStages>;

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
    at.next();
  }
  __device__ __forceinline__ void release_v(State& at) {
    kit::release(&v_empty[at.stage]);
    at.next();
  }

  // region issue
  // The producer's part in a tile of queries: the first `tiles` tiles of keys and values of a head,
  // the last one first, each as soon as its stage is empty. K(n - 1) goes before V(n): its scores
  // are wanted first. Calls before_last() when only the last V is left to issue. By one thread.
  template <class BeforeLast>
  __device__ __forceinline__ void issue(const AttentionMaps& maps, State& k_at, State& v_at,
                                        int head, int tiles, BeforeLast before_last) {
    const auto issue_tile = [&](const CUtensorMap& map, auto& to, auto& full, auto& empty,
                                State& at, int tile) {
      kit::wait_empty(empty, at);
      // What threads have read comes before what TMA, another proxy, writes.
      if constexpr (Tile::kReadByThreads) ptx::fence_proxy_async();
      ptx::mbarrier_arrive_expect_tx(&full[at.stage], Tile::kKvBytes);
      ptx::tensor_load(to[at.stage], &map, 0, tile * Tile::kTileN, 0, head, &full[at.stage]);
      at.next();
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
  __device__ __forceinline__ void issue_q(const AttentionMaps& maps, int first_query, int head) {
    ptx::mbarrier_arrive_expect_tx(&q_full, Tile::kQBytes);
    ptx::tensor_load(q, &maps.q, 0, first_query, 0, head, &q_full);
  }
  __device__ __forceinline__ void wait_q() { kit::wait(&q_full, 0); }
#endif
};

}  // namespace attention
