// How a cluster of two blocks, each with two warpgroups that multiply, computes two tiles, one
// below the other, for any part of k.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/bf16/kit/shaped_tile.cuh"
#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/cluster.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::bf16 {

// A tile of C of one block: both warpgroups that multiply have 64 kParts rows of it. All use the
// ring of WidePair.
template <int kParts_, int kTileN_>
struct ClusterTile {
  static constexpr int kParts = kParts_, kTileN = kTileN_;
  static constexpr int kTileM = 128 * kParts, kSlabs = kit::divide_up(kTileN, 64);
  static constexpr int kBytesA = kTileM * kRowBytes;
  static constexpr int kBytes = kBytesA + kSlabs * kSlabBytes;  // of a k tile
  static_assert(kBytes <= WidePair::kStageBytes, "a k tile fits into a stage");
};
using WholeTile = ClusterTile<1, 256>;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Issues this block's part of the tile at (row, col), the values of k from `begin` up to `end`. By
// one thread. kTransposedA: A is k x m and comes in slabs, as B does where it is k x n.
template <class Tile, bool kTransposedB, bool kTransposedA = false, int kStages>
__device__ inline void issue_k_tiles(const CUtensorMap* map_a, const CUtensorMap* map_b, int row,
                                     int col, int begin, int end, unsigned char* ring,
                                     std::uint64_t* full, std::uint64_t* empty,
                                     kit::PipelineState<kStages>& state) {
  constexpr std::uint16_t kAll = (1 << kClusterSize) - 1;
  for (int p = begin; p < end; p += kTileK, state.next()) {
    unsigned char* const stage = ring + state.stage * WidePair::kStageBytes;
    std::uint64_t* const barrier = &full[state.stage];
    kit::wait_empty(empty, state);
    ptx::mbarrier_arrive_expect_tx(barrier, Tile::kBytes);
#pragma unroll
    for (int i = 0; i < Tile::kParts; ++i) {
      issue_b<!kTransposedA, WholeTile::kTileM>(stage + i * WholeTile::kBytesA, map_a, p,
                                                row + i * WholeTile::kTileM, barrier);
    }
    // The blocks of a cluster take turns with the slabs of B and load them for both.
    for (int s = ptx::cluster_rank(); s < Tile::kSlabs; s += kClusterSize) {
      const int x = col + 64 * s;
      ptx::tensor_load_multicast(stage + Tile::kBytesA + s * kSlabBytes, map_b,
                                 kTransposedB ? p : x, kTransposedB ? x : p, barrier, kAll);
    }
  }
}

// The sums of a warpgroup, over the values of k from `begin` up to `end`; those of its rows begin
// at first_row of the tile.
template <class Tile, bool kTransposedB, bool kTransposedA = false, int kStages>
__device__ __forceinline__ void multiply_k_tiles(float (&acc)[Tile::kParts][Tile::kTileN / 2],
                                                 int first_row, int begin, int end,
                                                 const unsigned char* ring, std::uint64_t* full,
                                                 std::uint64_t* empty,
                                                 kit::PipelineState<kStages>& state) {
  int before = 0;  // the stage of the k tile before
  for (int p = begin; p < end; p += kTileK, state.next()) {
    const unsigned char* const stage = ring + state.stage * WidePair::kStageBytes;
    kit::wait_full(full, state);
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < Tile::kParts; ++i) {
      issue_k_tile<kTransposedB, kTransposedA>(acc[i], stage + (first_row + 64 * i) * kRowBytes,
                                               stage + Tile::kBytesA, p == begin);
    }
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();
    if (p > begin) release_stage<WidePair>(&empty[before]);
    before = state.stage;
  }
  ptx::wgmma_wait_group<0>();
  release_stage<WidePair>(&empty[before]);
#pragma unroll
  for (int i = 0; i < Tile::kParts; ++i) ptx::fence_registers(acc[i]);
}

// For a warpgroup whose rows all lie below C: releases unread what came for the others.
template <int kStages>
__device__ inline void skip_k_tiles(int begin, int end, std::uint64_t* full, std::uint64_t* empty,
                                    kit::PipelineState<kStages>& state) {
  for (int p = begin; p < end; p += kTileK, state.next()) {
    kit::wait_full(full, state);
    release_stage<WidePair>(&empty[state.stage]);
  }
}
#endif

}  // namespace matmul::bf16
