// An order of tiles for the L2 cache.
#pragma once

#include <cuda_runtime.h>

#include "04_matmul/kit/tile_origin.cuh"

namespace matmul {

// region order
// The tile-th tile in an order in which tiles that are computed at the same time are a compact part
// of C: groups of 8 tile rows, and down each group's columns one after the other. They share their
// rows and columns in the L2 cache.
constexpr int kGroupRows = 8;
template <int kTileM, int kTileN>
__device__ TileOrigin grouped_tile(int m, int n, int tile) {
  const int tiles_down = divide_up(m, kTileM), tiles_across = divide_up(n, kTileN);
  const int group = tile / (kGroupRows * tiles_across) * kGroupRows;  // its first tile row
  const int height = min(kGroupRows, tiles_down - group);
  const int within = tile - group * tiles_across;
  return {(group + within % height) * kTileM, within / height * kTileN};
}
// endregion
// This block's.
template <int kTileM, int kTileN>
__device__ TileOrigin grouped_tile(int m, int n) {
  return grouped_tile<kTileM, kTileN>(m, n, static_cast<int>(blockIdx.x));
}

}  // namespace matmul
