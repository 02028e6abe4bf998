// How the rungs for wgmma cut up their work, and their two products: of a warpgroup's 64 queries
// and a tile of keys.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/wgmma.cuh"

namespace attention {

// A block for elements of 16 bits: one producer warpgroup and `kConsumers` that compute, with 64
// queries each. Keys and values come in tiles of `kTileN` rows; kStages of either are in shared
// memory at a time.
template <class Element_, int kD_, int kConsumers_, int kTileN_, int kStages_>
struct HopperTile {
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

}  // namespace attention
