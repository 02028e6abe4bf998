// aligned_stores: for rows that begin anywhere, each store still begins with a sector.
//
// When the output's rows are not a multiple of 8 floats long, a tile's pieces of them begin and end
// inside sectors, and two blocks write each such sector by halves. Here a block moves its piece of
// every output row back by 0 to 7 floats, to the sector boundary. For that it loads the 8 input
// rows before its own again, out of the cache: 64 rows for 56. Loads may stay misaligned: a sector
// read twice is in the cache. But one written by halves must be put together.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "03_coalescing/transpose/kit/tiles.cuh"
#include "common/kit/check.cuh"

namespace transpose {

constexpr int kSectorFloats = 8;

// How many floats into a sector a pointer points.
__device__ inline int floats_into_sector(const float* pointer) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(pointer) / sizeof(float) %
                          kSectorFloats);
}

// tiles_down: tiles in a column of the input. A tile inside the matrix, the usual case, takes no
// test per element, and its loads are all in flight before the first is put into shared memory.
template <int kTileRows, int kTileCols, int kWarps>
__global__ void __launch_bounds__(32 * kWarps)
    transpose_aligned_stores_kernel(const float* __restrict__ in, float* __restrict__ out,
                                    std::int64_t rows, std::int64_t cols, unsigned tiles_down) {
  constexpr int kLoadedRows = kTileRows + kSectorFloats;
  constexpr int kLoads = kLoadedRows / kWarps;
  static_assert(kTileRows % kSectorFloats == 0, "whole sectors per output row");
  static_assert(kLoadedRows % kWarps == 0 && kTileCols % kWarps == 0 && kTileCols % 32 == 0,
                "every warp does the same number of steps");
  __shared__ float tile[kLoadedRows][kTileCols + 1];
  const TileCorner corner{static_cast<std::int64_t>(blockIdx.x % tiles_down) * kTileRows,
                          static_cast<std::int64_t>(blockIdx.x / tiles_down) * kTileCols};
  const std::int64_t above = corner.row - kSectorFloats;  // the input row in row 0 of the tile
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

  // The usual tile: inside the matrix, so nothing is tested. First all loads, then all stores into
  // shared memory, so that as many loads as can be are in flight.
  if (above >= 0 && corner.row + kTileRows <= rows && corner.col + kTileCols <= cols) {
    const float* from = in + (above + warp) * cols + corner.col + lane;
    float loaded[kLoads][kTileCols / 32];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
#pragma unroll
      for (int x = 0; x < kTileCols / 32; ++x) loaded[k][x] = from[k * kWarps * cols + 32 * x];
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
#pragma unroll
      for (int x = 0; x < kTileCols / 32; ++x) {
        tile[warp + k * kWarps][32 * x + lane] = loaded[k][x];
      }
    }
    __syncthreads();

    // A warp takes whole columns of the tile: rows of the output, moved back to a sector.
    float* to = out + (corner.col + warp) * rows + corner.row;
#pragma unroll
    for (int x = warp; x < kTileCols; x += kWarps, to += kWarps * rows) {
      const int back = floats_into_sector(to);
#pragma unroll
      for (int y = lane; y < kTileRows; y += 32) to[y - back] = tile[kSectorFloats - back + y][x];
    }
    return;
  }

  // A tile at an edge: the same, with a test for every element.
  for (int y = warp; y < kLoadedRows; y += kWarps) {
    const std::int64_t r = above + y;
    for (int x = lane; x < kTileCols; x += 32) {
      if (r >= 0 && r < rows && corner.col + x < cols) tile[y][x] = in[r * cols + corner.col + x];
    }
  }
  __syncthreads();
  for (int x = warp; x < kTileCols && corner.col + x < cols; x += kWarps) {
    float* to = out + (corner.col + x) * rows;
    const int back = floats_into_sector(to + corner.row);
    for (int y = lane; y < kTileRows; y += 32) {
      const std::int64_t r = corner.row - back + y;
      if (r >= 0 && r < rows) to[r] = tile[kSectorFloats - back + y][x];
    }
  }
}

// out[c][r] = in[r][c], in: rows x cols. Device pointers, row-major, dense.
inline void transpose_aligned_stores(const float* in, float* out, std::int64_t rows,
                                     std::int64_t cols, cudaStream_t stream) {
  constexpr int kTileRows = 56, kTileCols = 64, kWarps = 16;
  // Pieces move back, so the last tile must begin up to 7 floats behind the end.
  const std::int64_t tiles_down = tiles_in(rows + kSectorFloats - 1, kTileRows);
  const std::int64_t grid = tiles_down * tiles_in(cols, kTileCols);
  transpose_aligned_stores_kernel<kTileRows, kTileCols, kWarps>
      <<<grid, 32 * kWarps, 0, stream>>>(in, out, rows, cols, static_cast<unsigned>(tiles_down));
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace transpose
