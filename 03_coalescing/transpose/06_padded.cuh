// padded: each row of the tile is one word longer.
//
// Element (r, c) of the tile is now word 33 r + c, in bank (r + c) % 32. The 32 lanes along a row
// hit 32 banks, and so do the 32 lanes down a column: one wavefront. In the source it is a `+ 1`.
// What is left: 128 bytes of shared memory that hold nothing, and rows that no longer begin on 16
// bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "03_coalescing/transpose/kit/tiles.cuh"
#include "common/kit/check.cuh"

namespace transpose {

template <int kTile>
__global__ void __launch_bounds__(kTile* kTile)
    transpose_padded_kernel(const float* in, float* out, std::int64_t rows, std::int64_t cols) {
  __shared__ float tile[kTile][kTile + 1];
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
inline void transpose_padded(const float* in, float* out, std::int64_t rows, std::int64_t cols,
                             cudaStream_t stream) {
  constexpr int kTile = 32;
  const dim3 block(kTile, kTile);
  const std::int64_t grid = tile_count(rows, cols, kTile, kTile);
  transpose_padded_kernel<kTile><<<grid, block, 0, stream>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace transpose
