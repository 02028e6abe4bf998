// What rung 18 computes: tiles of C that are turned, so that they can have any multiple of 8 rows.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "04_matmul/bf16/10_persistent.cuh"
#include "04_matmul/bf16/12_async_store.cuh"
#include "04_matmul/bf16/16_narrow_edge.cuh"
#include "04_matmul/bf16/hopper.cuh"
#include "04_matmul/bf16/pair_tiles.cuh"
#include "04_matmul/sgemm/tiles.cuh"

// The forms of a turned tile, in the middle of C and at its lower edge: what pair_tiles.cuh calls A
// is B, and the other way around, so kRows counts columns of C and kCols rows of C.
template <int kRowsOfC>
using TurnedTile = TileForm<1, kRowsOfC>;
template <int kRowsOfC>
using TurnedEdge = TileForm<256 / kRowsOfC, kRowsOfC>;

// The pairs of tiles, side by side here: as few rows of whole ones as leave no more of C than a
// tile at the edge has.
template <class Whole, class Edge>
EdgeOrder turned_pairs(int m, int n) {
  const int rows = divide_up(std::max(0, m - Edge::kCols), Whole::kCols) * Whole::kCols;
  return {order_in_bands(n, rows, kBlocks * Whole::kRows, Whole::kCols),
          rows < m ? divide_up(n, kBlocks * Edge::kRows) : 0};
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// As store_slabs for a turned tile: rounds the sums of a warpgroup, 64 columns of C by 2 kCount
// rows, and has the copy engine store them at (row, col), 64 rows at a time, those left over by
// map_rest.
template <int kCount>
__device__ inline void store_turned(const float (&sum)[kCount], unsigned char* staging,
                                    const CUtensorMap* map_c, const CUtensorMap* map_rest, int row,
                                    int col, int barrier) {
  constexpr int kRows = 2 * kCount, kSlabs = divide_up(kRows, 64);
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const int piece = 2 * warp + lane / 8 % 2;         // 8 columns, and
  const int row_of_lane = lane / 16 * 8 + lane % 8;  // the row, whose address this lane gives
#pragma unroll
  for (int s = 0; s < kSlabs; ++s) {
    const int rows = min(64, kRows - 64 * s);
    unsigned char* const slab = staging + s % kStagingSlabs * kSlabBytes;
    if (thread == 0) ptx::bulk_wait_group_read<kStagingSlabs - 1>();
    ptx::named_barrier_sync(barrier, 128);  // the slab is free
#pragma unroll
    for (int j = 0; j < rows; j += 16) {
      const int first = min(j, rows - 16);  // of 56 rows, 8 are written twice
      const float* d = &sum[32 * s + first / 2];
      const int y = first + row_of_lane;
      ptx::stmatrix_x4_trans(slab + y * kRowBytes + (piece ^ (y % 8)) * 16,
                             ptx::pack_bf16(d[0], d[1]), ptx::pack_bf16(d[2], d[3]),
                             ptx::pack_bf16(d[4], d[5]), ptx::pack_bf16(d[6], d[7]));
    }
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
