// swizzled: the tile is square again, and its words change places instead.
//
// Element (r, c) is kept at column c XOR r. Along a row r is fixed, and down a column c is: either
// way the XOR runs through 32 different banks. No word is wasted and rows keep their alignment,
// which vector accesses insist on, and TMA and tensor cores (chapter 04) too. What is left: a
// thread moves one float, and 1,024 threads wait for each other at the barrier.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "03_coalescing/transpose/kit/tiles.cuh"
#include "common/kit/check.cuh"

namespace transpose {

template <int kTile>
__global__ void __launch_bounds__(kTile* kTile)
    transpose_swizzled_kernel(const float* in, float* out, std::int64_t rows, std::int64_t cols) {
  static_assert(kTile == 32, "the XOR permutes the 32 banks");
  __shared__ float tile[kTile][kTile];
  const TileCorner corner = tile_along_row(cols, kTile, kTile);
  const int x = threadIdx.x, y = threadIdx.y;

  if (corner.row + y < rows && corner.col + x < cols) {
    tile[y][x ^ y] = in[(corner.row + y) * cols + corner.col + x];
  }
  __syncthreads();
  // Now x counts rows of the input and y its columns.
  if (corner.row + x < rows && corner.col + y < cols) {
    out[(corner.col + y) * rows + corner.row + x] = tile[x][y ^ x];
  }
}

// out[c][r] = in[r][c], in: rows x cols. Device pointers, row-major, dense.
inline void transpose_swizzled(const float* in, float* out, std::int64_t rows, std::int64_t cols,
                               cudaStream_t stream) {
  constexpr int kTile = 32;
  const dim3 block(kTile, kTile);
  const std::int64_t grid = tile_count(rows, cols, kTile, kTile);
  transpose_swizzled_kernel<kTile><<<grid, block, 0, stream>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace transpose
