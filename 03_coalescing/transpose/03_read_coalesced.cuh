// read_coalesced: one thread per element, the lanes of a warp along a row of the input.
//
// Reading is perfect: 32 neighbouring floats, 4 sectors per request. Writing is the opposite: the
// 32 floats go to 32 rows of the output, each to a sector of its own, and 4 bytes of 32 are used.
// What is wrong: the stores. Could it not be the loads instead?
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "03_coalescing/transpose/kit/tiles.cuh"
#include "common/kit/check.cuh"

namespace transpose {

template <int kTileRows, int kTileCols>
__global__ void transpose_read_coalesced_kernel(const float* in, float* out, std::int64_t rows,
                                                std::int64_t cols) {
  const TileCorner tile = tile_along_row(cols, kTileRows, kTileCols);
  const std::int64_t r = tile.row + threadIdx.y;
  const std::int64_t c = tile.col + threadIdx.x;
  if (r < rows && c < cols) out[c * rows + r] = in[r * cols + c];
}

// out[c][r] = in[r][c], in: rows x cols. Device pointers, row-major, dense.
inline void transpose_read_coalesced(const float* in, float* out, std::int64_t rows,
                                     std::int64_t cols, cudaStream_t stream) {
  constexpr int kTileRows = 8, kTileCols = 32;
  const dim3 block(kTileCols, kTileRows);
  const std::int64_t grid = tile_count(rows, cols, kTileRows, kTileCols);
  transpose_read_coalesced_kernel<kTileRows, kTileCols>
      <<<grid, block, 0, stream>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace transpose
