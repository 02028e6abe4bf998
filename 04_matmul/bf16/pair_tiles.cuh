// What rungs 16 to 18 share: how a cluster of two blocks, each with two warpgroups that multiply,
// computes two tiles, one below the other, for any part of k.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/bf16/14_by_shape.cuh"
#include "04_matmul/bf16/hopper.cuh"
#include "04_matmul/sgemm/tiles.cuh"

// A tile of C of one block: both warpgroups that multiply have 64 kParts rows of it. All forms use
// the ring of WidePair.
template <int kPartsOfWarpgroup, int kColsOfTile>
struct TileForm {
  static constexpr int kParts = kPartsOfWarpgroup, kCols = kColsOfTile;
  static constexpr int kRows = 128 * kParts, kSlabs = divide_up(kCols, 64);
  static constexpr int kBytesA = kRows * kRowBytes;
  static constexpr int kBytes = kBytesA + kSlabs * kSlabBytes;  // of a step
  static_assert(kBytes <= WidePair::kStageBytes, "a step fits into a stage");
};
using WholeTile = TileForm<1, 256>;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Orders this block's part of the tile at (row, col), the values of k from `begin` up to `end`. By
// one thread. kTransposedA: A is k x m and comes in slabs, as B does where it is k x n.
template <class Form, bool kTransposedB, bool kTransposedA = false, int kStages>
__device__ inline void order_steps(const CUtensorMap* map_a, const CUtensorMap* map_b, int row,
                                   int col, int begin, int end, unsigned char* ring,
                                   std::uint64_t* full, std::uint64_t* empty,
                                   RingPlace<kStages>& place) {
  constexpr std::uint16_t kAll = (1 << kBlocks) - 1;
  for (int p = begin; p < end; p += kStep, place.next()) {
    unsigned char* const stage = ring + place.stage * WidePair::kStageBytes;
    std::uint64_t* const barrier = &full[place.stage];
    wait(&empty[place.stage], place.phase ^ 1);
    ptx::mbarrier_arrive_expect_tx(barrier, Form::kBytes);
#pragma unroll
    for (int i = 0; i < Form::kParts; ++i) {
      order_b<!kTransposedA, WholeTile::kRows>(stage + i * WholeTile::kBytesA, map_a, p,
                                               row + i * WholeTile::kRows, barrier);
    }
    // The blocks of a cluster take turns with the slabs of B and order them for both.
    for (int s = ptx::cluster_rank(); s < Form::kSlabs; s += kBlocks) {
      const int x = col + 64 * s;
      ptx::tensor_load_multicast(stage + Form::kBytesA + s * kSlabBytes, map_b,
                                 kTransposedB ? p : x, kTransposedB ? x : p, barrier, kAll);
    }
  }
}

// The sums of a warpgroup, over the values of k from `begin` up to `end`; those of its rows begin
// at first_row of the tile.
template <class Form, bool kTransposedB, bool kTransposedA = false, int kStages>
__device__ __forceinline__ void multiply_steps(float (&sum)[Form::kParts][Form::kCols / 2],
                                               int first_row, int begin, int end,
                                               const unsigned char* ring, std::uint64_t* full,
                                               std::uint64_t* empty, RingPlace<kStages>& place) {
  int before = 0;  // the stage of the step before
  for (int p = begin; p < end; p += kStep, place.next()) {
    const unsigned char* const stage = ring + place.stage * WidePair::kStageBytes;
    wait(&full[place.stage], place.phase);
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < Form::kParts; ++i) {
      multiply_step<kTransposedB, kTransposedA>(sum[i], stage + (first_row + 64 * i) * kRowBytes,
                                                stage + Form::kBytesA, p == begin);
    }
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();
    if (p > begin) release_stage<WidePair>(&empty[before]);
    before = place.stage;
  }
  ptx::wgmma_wait_group<0>();
  release_stage<WidePair>(&empty[before]);
#pragma unroll
  for (int i = 0; i < Form::kParts; ++i) ptx::fence_registers(sum[i]);
}

// For a warpgroup whose rows all lie below C: hands back unread what came for the others.
template <int kStages>
__device__ inline void skip_steps(int begin, int end, std::uint64_t* full, std::uint64_t* empty,
                                  RingPlace<kStages>& place) {
  for (int p = begin; p < end; p += kStep, place.next()) {
    wait(&full[place.stage], place.phase);
    release_stage<WidePair>(&empty[place.stage]);
  }
}
#endif
