// vectorized: 16 bytes per access on all four ways, and tiles of 64 x 64.
//
// A thread loads a block of 4 x 4 floats as four float4, transposes it in its registers, and puts
// four float4 into shared memory; from there float4 go out. The unit of the swizzle is now a
// float4: group q of tile row c lies at q XOR (c / 4 % 8). A quarter of the instructions, 64 bytes
// in flight per thread, pieces of 256 bytes on both sides. What is left: the order of the blocks;
// and sizes that are not multiples of 4, whose rows float4 cannot take: they are refused.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "03_coalescing/transpose/kit/tiles.cuh"
#include "common/kit/check.cuh"

namespace transpose {

// kTile * kTile / 16 threads. rows and cols are multiples of 4, so a block of 4 x 4 is inside the
// matrix or outside.
template <int kTile>
__global__ void __launch_bounds__(kTile* kTile / 16)
    transpose_vectorized_kernel(const float* __restrict__ in, float* __restrict__ out,
                                std::int64_t rows, std::int64_t cols) {
  constexpr int kQuads = kTile / 4;  // float4 in a row of the tile
  constexpr int kThreads = kQuads * kQuads;
  static_assert(kQuads % 8 == 0, "the XOR permutes 8 float4, which fill the 32 banks");
  __shared__ float4 tile[kTile][kQuads];  // the transposed tile: a row is a column of the input
  const TileCorner corner = tile_along_row(cols, kTile, kTile);

  // Four rows of four floats come in, and go into the tile as four columns.
  const int across = threadIdx.x % kQuads, down = threadIdx.x / kQuads;
  const std::int64_t r = corner.row + 4 * down, c = corner.col + 4 * across;
  if (r < rows && c < cols) {
    float4 a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      a[i] = *reinterpret_cast<const float4*>(in + (r + i) * cols + c);
    }
    // The swizzle: eight threads store at once, and each has four banks to itself.
    const int place = down ^ (across % 8);  // across is (tile row) / 4 for all four
    tile[4 * across + 0][place] = make_float4(a[0].x, a[1].x, a[2].x, a[3].x);
    tile[4 * across + 1][place] = make_float4(a[0].y, a[1].y, a[2].y, a[3].y);
    tile[4 * across + 2][place] = make_float4(a[0].z, a[1].z, a[2].z, a[3].z);
    tile[4 * across + 3][place] = make_float4(a[0].w, a[1].w, a[2].w, a[3].w);
  }
  __syncthreads();

  // Out again as float4, along the rows of the output.
  const std::int64_t to = corner.row + 4 * across;
#pragma unroll
  for (int y = down; y < kTile; y += kThreads / kQuads) {
    if (to < rows && corner.col + y < cols) {
      *reinterpret_cast<float4*>(out + (corner.col + y) * rows + to) =
          tile[y][across ^ (y / 4 % 8)];
    }
  }
}

// out[c][r] = in[r][c], in: rows x cols. Device pointers, row-major, dense.
inline void transpose_vectorized(const float* in, float* out, std::int64_t rows, std::int64_t cols,
                                 cudaStream_t stream) {
  require_aligned_rows(in, out, rows, cols);
  constexpr int kTile = 64;
  const std::int64_t grid = tile_count(rows, cols, kTile, kTile);
  transpose_vectorized_kernel<kTile><<<grid, kTile * kTile / 16, 0, stream>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace transpose
