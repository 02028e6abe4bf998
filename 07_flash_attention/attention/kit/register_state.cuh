// What a thread knows of its rows, outputs in vectors of four columns, and what is done with them.
// For `vectorized` to `async_copy`.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "07_flash_attention/attention/kit/register_tile.cuh"

namespace attention {

// A thread's share of what is known of its rows so far; at first nothing. Member m of the 16 lanes
// of a row has the columns 4 m .. 4 m + 3 of the output, then 64 + 4 m ...
template <class Tile>
struct RegisterState {
  float row_max[Tile::kThreadM], sum[Tile::kThreadM] = {};
  float4 o[Tile::kThreadM][Tile::kThreadCols / 4] = {};
  __device__ RegisterState() {
    for (float& of_row : row_max) of_row = -INFINITY;
  }
};

// sum += a b, of four columns.
__device__ inline void add_product(float4& sum, float a, float4 b) {
  sum.x += a * b.x;
  sum.y += a * b.y;
  sum.z += a * b.z;
  sum.w += a * b.w;
}

// What a thread has summed for one row, at another scale.
template <int kFours>
__device__ void rescale(float4 (&o)[kFours], float factor) {
  for (float4& four : o) {
    four.x *= factor;
    four.y *= factor;
    four.z *= factor;
    four.w *= factor;
  }
}

// state.o += P V of the tile, four keys at a time.
template <class Tile>
__device__ void multiply_pv(const typename Tile::Shared& tile, RegisterState<Tile>& state) {
  const Lane<Tile> lane{};
#pragma unroll 2
  for (int j = 0; j < Tile::kTileN; j += 4) {
    float4 p[Tile::kThreadM];
#pragma unroll
    for (int r = 0; r < Tile::kThreadM; ++r) p[r] = load_four(&tile.p[lane.row(r)][j]);
#pragma unroll
    for (int i = 0; i < Tile::kThreadCols / 4; ++i) {
      const int col = 4 * lane.member + 64 * i;
      const float4 v0 = load_four(&tile.v[j][col]), v1 = load_four(&tile.v[j + 1][col]);
      const float4 v2 = load_four(&tile.v[j + 2][col]), v3 = load_four(&tile.v[j + 3][col]);
#pragma unroll
      for (int r = 0; r < Tile::kThreadM; ++r) {
        add_product(state.o[r][i], p[r].x, v0);
        add_product(state.o[r][i], p[r].y, v1);
        add_product(state.o[r][i], p[r].z, v2);
        add_product(state.o[r][i], p[r].w, v3);
      }
    }
  }
}

// Writes a thread's part of a row of the output, at another scale.
template <int kFours>
__device__ void store_row(const float4 (&o)[kFours], float factor, float* to) {
  for (int i = 0; i < kFours; ++i) {
    float4 four = make_float4(0, 0, 0, 0);
    add_product(four, factor, o[i]);
    *reinterpret_cast<float4*>(to + 64 * i) = four;
  }
}

}  // namespace attention
