// Which tile of the matrix a block works on. The grid has one dimension: gridDim.y ends at 65,535,
// which a tall matrix passes. And whether tiles can move as float4.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace transpose {

// First row and first column of a tile, in the input.
struct TileCorner {
  std::int64_t row, col;
};

__host__ __device__ inline std::int64_t tiles_in(std::int64_t length, int tile) {
  return (length + tile - 1) / tile;
}

// Blocks for a matrix of rows x cols in tiles of tile_rows x tile_cols.
inline std::int64_t tile_count(std::int64_t rows, std::int64_t cols, int tile_rows, int tile_cols) {
  return tiles_in(rows, tile_rows) * tiles_in(cols, tile_cols);
}

// Consecutive blocks walk along a row of tiles of the input.
__device__ inline TileCorner tile_along_row(std::int64_t cols, int tile_rows, int tile_cols) {
  const unsigned across = static_cast<unsigned>(tiles_in(cols, tile_cols));
  return {static_cast<std::int64_t>(blockIdx.x / across) * tile_rows,
          static_cast<std::int64_t>(blockIdx.x % across) * tile_cols};
}

// Consecutive blocks walk down a column of tiles of the input, which is along a row of the output.
__device__ inline TileCorner tile_down_column(std::int64_t rows, int tile_rows, int tile_cols) {
  const unsigned down = static_cast<unsigned>(tiles_in(rows, tile_rows));
  return {static_cast<std::int64_t>(blockIdx.x % down) * tile_rows,
          static_cast<std::int64_t>(blockIdx.x / down) * tile_cols};
}

// Whether all rows of both matrices begin on 16 bytes.
inline bool rows_are_aligned(const float* in, const float* out, std::int64_t rows,
                             std::int64_t cols) {
  return kit::has_vector_rows(in, cols) && kit::has_vector_rows(out, rows);
}

// For the rungs that move float4 only. Throws Skip if a row begins elsewhere.
inline void require_aligned_rows(const float* in, const float* out, std::int64_t rows,
                                 std::int64_t cols) {
  if (!rows_are_aligned(in, out, rows, cols)) {
    throw kit::Skip("needs rows that begin on 16 bytes, of the input and of the output");
  }
}

}  // namespace transpose
