// Tiles of C transposed, C^T = B^T A^T, so that they can have any multiple of 8 rows of C.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "04_matmul/bf16/kit/cluster.cuh"
#include "04_matmul/bf16/kit/cluster_tile.cuh"
#include "04_matmul/bf16/kit/edge_schedule.cuh"
#include "04_matmul/bf16/kit/scheduler.cuh"
#include "04_matmul/bf16/kit/tma_epilogue.cuh"
#include "04_matmul/bf16/kit/tma_operands.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"

namespace matmul::bf16 {

// Transposed tiles in the middle of C and at its lower edge: what cluster_tile.cuh calls A is B,
// and the other way around, so kTileM counts columns of C and kTileN rows of C.
template <int kRowsOfC>
using TransposedTile = ClusterTile<1, kRowsOfC>;
template <int kRowsOfC>
using TransposedEdge = ClusterTile<256 / kRowsOfC, kRowsOfC>;

// The pairs of tiles, side by side here: as few rows of whole ones as leave no more of C than a
// tile at the edge has.
template <class Whole, class Edge>
EdgeSchedule transposed_pairs(int m, int n) {
  const int rows = kit::divide_up(std::max(0, m - Edge::kTileN), Whole::kTileN) * Whole::kTileN;
  return {grouped_schedule(n, rows, kClusterSize * Whole::kTileM, Whole::kTileN),
          rows < m ? kit::divide_up(n, kClusterSize * Edge::kTileM) : 0};
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// As store_by_tma for a transposed tile: rounds the sums of a warpgroup, 64 columns of C by 2
// kCount rows, and has TMA store them at (row, col), 64 rows at a time, those left over by
// map_rest.
template <int kCount>
__device__ inline void store_transposed_by_tma(const float (&acc)[kCount], unsigned char* staging,
                                               const CUtensorMap* map_c,
                                               const CUtensorMap* map_rest, int row, int col,
                                               int barrier) {
  constexpr int kTileM = 2 * kCount, kSlabs = kit::divide_up(kTileM, 64);
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const int chunk = 2 * warp + lane / 8 % 2;         // 8 columns, and
  const int row_of_lane = lane / 16 * 8 + lane % 8;  // the row, whose address this lane gives
#pragma unroll
  for (int s = 0; s < kSlabs; ++s) {
    const int rows = min(64, kTileM - 64 * s);
    unsigned char* const slab = staging + s % kStagingSlabs * kSlabBytes;
    if (thread == 0) ptx::bulk_wait_group_read<kStagingSlabs - 1>();
    ptx::named_barrier_sync(barrier, 128);  // the slab is free

    // 16 rows of C at a time: stmatrix transposes each 8 x 8 matrix.
#pragma unroll
    for (int j = 0; j < rows; j += 16) {
      const int first = min(j, rows - 16);  // of 56 rows, 8 are written twice
      const float* d = &acc[32 * s + first / 2];
      const int y = first + row_of_lane;
      ptx::stmatrix_x4_trans(slab + y * kRowBytes + (chunk ^ (y % 8)) * 16,
                             ptx::pack_bf16(d[0], d[1]), ptx::pack_bf16(d[2], d[3]),
                             ptx::pack_bf16(d[4], d[5]), ptx::pack_bf16(d[6], d[7]));
    }

    // All have written: TMA may read.
    ptx::fence_proxy_async();
    ptx::named_barrier_sync(barrier, 128);  // the slab is complete
    if (thread == 0) {
      ptx::tensor_store(rows == 64 ? map_c : map_rest, slab, col, row + 64 * s);
      ptx::bulk_commit_group();
    }
  }
  if (kSlabs % kStagingSlabs != 0 && thread == 0) ptx::bulk_wait_group_read<0>();
}
#endif

}  // namespace matmul::bf16
