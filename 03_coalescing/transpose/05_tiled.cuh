// tiled: the corner is turned in shared memory.
//
// A block brings a tile of 32 x 32 into shared memory row by row and takes it out column by column.
// Both sides of global memory are coalesced, 4 sectors per request. Shared memory has no sectors,
// but it has 32 banks, and word w lies in bank w % 32. The words of a column are 32 apart: all in
// one bank. The 32 lanes that read a column take turns, 32 wavefronts for one load. What is wrong:
// those turns.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "03_coalescing/transpose/kit/tiles.cuh"
#include "common/kit/check.cuh"

namespace transpose {

template <int kTile>
__global__ void __launch_bounds__(kTile* kTile)
    transpose_tiled_kernel(const float* in, float* out, std::int64_t rows, std::int64_t cols) {
  __shared__ float tile[kTile][kTile];
  const TileCorner corner = tile_along_row(cols, kTile, kTile);
  const int x = threadIdx.x, y = threadIdx.y;

  if (corner.row + y < rows && corner.col + x < cols) {
    tile[y][x] = in[(corner.row + y) * cols + corner.col + x];
  }
  __syncthreads();
  // Now x counts rows of the input and y its columns.
  if (corner.row + x < rows && corner.col + y < cols) {
    out[(corner.col + y) * rows + corner.row + x] = tile[x][y];
  }
}

// out[c][r] = in[r][c], in: rows x cols. Device pointers, row-major, dense.
inline void transpose_tiled(const float* in, float* out, std::int64_t rows, std::int64_t cols,
                            cudaStream_t stream) {
  constexpr int kTile = 32;
  const dim3 block(kTile, kTile);
  const std::int64_t grid = tile_count(rows, cols, kTile, kTile);
  transpose_tiled_kernel<kTile><<<grid, block, 0, stream>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace transpose
