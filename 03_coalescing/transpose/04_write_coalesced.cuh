// write_coalesced: the lanes of a warp along a row of the output.
//
// threadIdx.x now counts rows of the input, so stores touch 4 sectors and loads 32. As many wasted
// bytes as before, on the other side. The two do not cost the same: a sector that was loaded stays
// in the L1 cache, where the seven other floats in it may be found by the warps beside this one; a
// store goes through to L2 at once. What is wrong: one side is still scattered.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "03_coalescing/transpose/kit/tiles.cuh"
#include "common/kit/check.cuh"

namespace transpose {

template <int kTileRows, int kTileCols>
__global__ void transpose_write_coalesced_kernel(const float* in, float* out, std::int64_t rows,
                                                 std::int64_t cols) {
  const TileCorner tile = tile_along_row(cols, kTileRows, kTileCols);
  const std::int64_t r = tile.row + threadIdx.x;
  const std::int64_t c = tile.col + threadIdx.y;
  if (r < rows && c < cols) out[c * rows + r] = in[r * cols + c];
}

// out[c][r] = in[r][c], in: rows x cols. Device pointers, row-major, dense.
inline void transpose_write_coalesced(const float* in, float* out, std::int64_t rows,
                                      std::int64_t cols, cudaStream_t stream) {
  constexpr int kTileRows = 32, kTileCols = 8;
  const dim3 block(kTileRows, kTileCols);
  const std::int64_t grid = tile_count(rows, cols, kTileRows, kTileCols);
  transpose_write_coalesced_kernel<kTileRows, kTileCols>
      <<<grid, block, 0, stream>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace transpose
