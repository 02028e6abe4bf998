// A tile of attention whose scores are in registers, by 256 threads: which rows and keys are whose,
// the product of queries and keys, and what a thread knows of its rows, with outputs in vectors of
// four columns, and does with them.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "common/kit/launch.cuh"

namespace attention {

// How a block cuts up its work. Each of its 8 warps has rows (queries) of its own. The lanes of a
// warp stand in two groups of 16: group g has every second row, and member m of it the keys m,
// m + 16, ... and as many columns of the output as the 15 others have.
template <int kD_, int kThreadM_, int kTileN_, int kBlocks_ = 1>
struct RegisterTile {
  static constexpr int kD = kD_, kThreadM = kThreadM_, kTileN = kTileN_;
  static constexpr int kBlocks = kBlocks_;  // on an SM at a time, at least
  static constexpr int kThreads = 256;
  static constexpr int kWarpRows = 2 * kThreadM, kTileM = kThreads / 32 * kWarpRows;
  static constexpr int kThreadN = kTileN / 16, kThreadCols = kD / 16;
  static constexpr int kPitch = kD + 4;  // floats from row to row: 8 rows start in 8 bank groups

  struct Shared {
    float q[kTileM][kPitch], k[kTileN][kPitch], v[kTileN][kD];
    float p[kTileM][kTileN + 16];  // the two groups store in different banks
  };
};

// Who a thread is.
template <class Tile>
struct Lane {
  int group = threadIdx.x % 32 / 16, member = threadIdx.x % 16;
  int first_row = threadIdx.x / 32 * Tile::kWarpRows;
  __device__ int row(int r) const { return first_row + 2 * r + group; }
};

__device__ inline float4 load_four(const float* from) {
  return *reinterpret_cast<const float4*>(from);
}

// score += Q K^T of the tile, four elements of queries and keys at a time.
template <class Tile>
__device__ void multiply_qk(const typename Tile::Shared& tile,
                            float (&score)[Tile::kThreadM][Tile::kThreadN]) {
  const Lane<Tile> lane{};
#pragma unroll 4
  for (int c = 0; c < Tile::kD; c += 4) {
    float4 k[Tile::kThreadN];
#pragma unroll
    for (int i = 0; i < Tile::kThreadN; ++i) k[i] = load_four(&tile.k[lane.member + 16 * i][c]);
#pragma unroll
    for (int r = 0; r < Tile::kThreadM; ++r) {
      const float4 q = load_four(&tile.q[lane.row(r)][c]);
#pragma unroll
      for (int i = 0; i < Tile::kThreadN; ++i) {
        score[r][i] += q.x * k[i].x;
        score[r][i] += q.y * k[i].y;
        score[r][i] += q.z * k[i].z;
        score[r][i] += q.w * k[i].w;
      }
    }
  }
}

// Calls launch(RegisterTile<...>()): the tile for this d, and for what an SM offers.
template <int kD, class Launch>
void with_register_tile(Launch launch) {
  using Large = RegisterTile<kD, kD == 256 ? 4 : 8, kD == 256 ? 32 : 64, kD == 64 ? 2 : 1>;
  using Small = RegisterTile<kD, 4, 32>;
  constexpr int kLargeBytes = static_cast<int>(sizeof(typename Large::Shared));
  if (kLargeBytes <= kit::most_shared()) return launch(Large());
  launch(Small());
}

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
