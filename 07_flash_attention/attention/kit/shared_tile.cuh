// A tile of attention in shared memory: 32 queries against 32 keys, by 256 threads; how it comes
// there, and what the threads that share a row agree on. The rungs kv_outer and q_outer do the same
// to a tile and differ in the order in which they go through the tiles.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

namespace attention {

// The maximum, or the sum, over the kRowThreads neighbouring lanes of a row; all of them get it.
template <bool kOfSum, int kRowThreads>
__device__ float over_row(float value) {
  for (int step = kRowThreads / 2; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(0xffffffff, value, step);
    value = kOfSum ? value + other : fmaxf(value, other);
  }
  return value;
}

// Copies kRows rows of Tile::kD floats, from row `first` on, of a matrix of `rows` rows, 16 bytes
// at a time; past the last, zeros.
template <class Tile, int kRows, int kPitch>
__device__ void load_tile(float (&to)[kRows][kPitch], const float* from, int first, int rows) {
  for (int i = threadIdx.x; i < kRows * Tile::kD / 4; i += Tile::kThreads) {
    const int row = i / (Tile::kD / 4), col = i % (Tile::kD / 4) * 4;
    float4 four = make_float4(0, 0, 0, 0);
    if (first + row < rows) {
      four = *reinterpret_cast<const float4*>(from + (first + row) * Tile::kD + col);
    }
    *reinterpret_cast<float4*>(&to[row][col]) = four;
  }
}

template <int kD_>
struct SharedTile {
  static constexpr int kD = kD_, kThreads = 256, kTileM = 32, kTileN = 32;  // queries, keys
  static constexpr int kRowThreads = kThreads / kTileM;  // neighbouring lanes that share a query
  // Scores a thread computes, and elements of O that it holds.
  static constexpr int kThreadN = kTileN / kRowThreads, kThreadCols = kD / kRowThreads;
  static constexpr int kPitch = kD + 4;  // floats from row to row: 8 rows start in 8 bank groups
  static_assert(32 % kRowThreads == 0, "the threads of a query are a part of a warp");

  float q[kTileM][kPitch], k[kTileN][kPitch], v[kTileN][kPitch];
  float p[kTileM][kTileN + 8];  // four queries of a warp store in different banks
};

// What the threads of a query know of it so far; o is spread over them: columns member +
// kRowThreads i.
template <int kD>
struct RowState {
  float row_max, sum;
  float o[SharedTile<kD>::kThreadCols];
};

// Adds the tile's keys to the state of this thread's query, which sees the first `visible` of them.
template <int kD>
__device__ void add_tile(SharedTile<kD>& tile, RowState<kD>& state, int visible, float scale) {
  using Tile = SharedTile<kD>;
  constexpr int kRowThreads = Tile::kRowThreads, kThreadN = Tile::kThreadN;
  const int row = threadIdx.x / kRowThreads, member = threadIdx.x % kRowThreads;

  // Scores: member m has keys m, m + 8, ... Four elements of a query and a key at a time.
  float score[kThreadN] = {};
  for (int c = 0; c < kD; c += 4) {
    const float4 q = *reinterpret_cast<const float4*>(&tile.q[row][c]);
    for (int i = 0; i < kThreadN; ++i) {
      const float4 k = *reinterpret_cast<const float4*>(&tile.k[member + kRowThreads * i][c]);
      score[i] += q.x * k.x + q.y * k.y + q.z * k.z + q.w * k.w;
    }
  }
  float row_max = state.row_max;
  for (int i = 0; i < kThreadN; ++i) {
    score[i] = member + kRowThreads * i < visible ? scale * score[i] : -INFINITY;
    row_max = fmaxf(row_max, score[i]);
  }
  row_max = over_row<false, kRowThreads>(row_max);

  // Weights, relative to the largest score so far; that is -infinity until a key was visible.
  const float shift = row_max == -INFINITY ? 0.0f : row_max;
  const float correction = expf(state.row_max - shift);
  float sum = 0;
  for (int i = 0; i < kThreadN; ++i) {
    const float weight = expf(score[i] - shift);
    tile.p[row][member + kRowThreads * i] = weight;
    sum += weight;
  }
  state.sum = state.sum * correction + over_row<true, kRowThreads>(sum);
  state.row_max = row_max;
  __syncwarp();  // a query's weights are complete: they do not leave the warp

  // The output so far is brought to the same scale; then the weighted values are added.
  for (int i = 0; i < Tile::kThreadCols; ++i) state.o[i] *= correction;
  for (int j = 0; j < Tile::kTileN; ++j) {
    const float weight = tile.p[row][j];
    for (int i = 0; i < Tile::kThreadCols; ++i) {
      state.o[i] += weight * tile.v[j][member + kRowThreads * i];
    }
  }
}

}  // namespace attention
