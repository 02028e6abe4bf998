// coarsened: 32 x 8 threads for a tile of 32 x 32, four floats each.
//
// The four loads of a thread do not depend on each other, so all are in flight before the first
// arrives; a block has 8 warps instead of 32 to bring together at the barrier, and eight such
// blocks share an SM: while one waits, others load. What is left: 4 bytes per access, and writes of
// an output row in pieces of 128 bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "03_coalescing/transpose/kit/tiles.cuh"
#include "common/kit/check.cuh"

namespace transpose {

template <int kTile, int kThreadRows>
__global__ void __launch_bounds__(kTile* kThreadRows)
    transpose_coarsened_kernel(const float* in, float* out, std::int64_t rows, std::int64_t cols) {
  static_assert(kTile == 32, "the XOR permutes the 32 banks");
  static_assert(kTile % kThreadRows == 0, "every thread moves the same number of floats");
  __shared__ float tile[kTile][kTile];
  const TileCorner corner = tile_along_row(cols, kTile, kTile);
  const int x = threadIdx.x;

#pragma unroll
  for (int y = threadIdx.y; y < kTile; y += kThreadRows) {
    if (corner.row + y < rows && corner.col + x < cols) {
      tile[y][x ^ y] = in[(corner.row + y) * cols + corner.col + x];
    }
  }
  __syncthreads();
  // Now x counts rows of the input and y its columns.
#pragma unroll
  for (int y = threadIdx.y; y < kTile; y += kThreadRows) {
    if (corner.row + x < rows && corner.col + y < cols) {
      out[(corner.col + y) * rows + corner.row + x] = tile[x][y ^ x];
    }
  }
}

// out[c][r] = in[r][c], in: rows x cols. Device pointers, row-major, dense.
inline void transpose_coarsened(const float* in, float* out, std::int64_t rows, std::int64_t cols,
                                cudaStream_t stream) {
  constexpr int kTile = 32, kThreadRows = 8;
  const dim3 block(kTile, kThreadRows);
  const std::int64_t grid = tile_count(rows, cols, kTile, kTile);
  transpose_coarsened_kernel<kTile, kThreadRows><<<grid, block, 0, stream>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace transpose
