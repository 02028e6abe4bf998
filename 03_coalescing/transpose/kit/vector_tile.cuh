// A tile that moves as float4 on all four ways: in, into shared memory, out of it, out.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "03_coalescing/transpose/kit/tiles.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace transpose {

// One tile, by kTile * kTile / 16 threads. rows, cols and the corner are multiples of 4, so a block
// of 4 x 4 is inside the matrix or outside.
template <int kTile>
__device__ inline void transpose_tile_of_vectors(const float* __restrict__ in,
                                                 float* __restrict__ out, std::int64_t rows,
                                                 std::int64_t cols, TileCorner corner) {
  constexpr int kQuads = kTile / 4;  // float4 in a row of the tile
  constexpr int kThreads = kQuads * kQuads;
  static_assert(kQuads % 8 == 0, "the XOR permutes 8 float4, which fill the 32 banks");
  __shared__ float4 tile[kTile][kQuads];  // the transposed tile: a row is a column of the input

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
