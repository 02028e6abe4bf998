// How C is cut into tiles, one for each block of a one-dimensional grid.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/launch.cuh"

namespace matmul {

using kit::divide_up;

// First element of a tile of C.
struct TileOrigin {
  int row, col;
};

// Of the tile that this block computes, row of tiles by row of tiles. The grid is one-dimensional:
// its x direction has room for 2^31 blocks, the others only for 65535.
template <int kTileM, int kTileN>
__device__ TileOrigin tile_of_block(int n) {
  const int tiles_across = divide_up(n, kTileN);
  const int tile = static_cast<int>(blockIdx.x);
  return {tile / tiles_across * kTileM, tile % tiles_across * kTileN};
}

// Tiles that cover an m x n matrix.
template <int kTileM, int kTileN>
int tile_count(std::int64_t m, std::int64_t n) {
  return static_cast<int>(std::int64_t{divide_up(m, kTileM)} * divide_up(n, kTileN));
}

}  // namespace matmul
