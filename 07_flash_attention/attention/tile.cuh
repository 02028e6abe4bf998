// A tile of attention in shared memory: 32 queries against 32 keys, by 256 threads. Rungs 5 and 6
// do the same to a tile and differ in the order in which they go through the tiles.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

constexpr int kTileRows = 32;  // queries
constexpr int kTileKeys = 32;
constexpr int kTileThreads = 256;
constexpr int kTeam = kTileThreads / kTileRows;  // neighbouring lanes that share a query
constexpr int kTeamKeys = kTileKeys / kTeam;     // scores a thread computes
static_assert(32 % kTeam == 0, "a team is a part of a warp");
static_assert(kTileRows == kTileKeys, "load_tile loads as many queries as keys");

template <int kD>
struct Tile {
  static constexpr int kPitch = kD + 4;  // floats from row to row: 8 rows start in 8 bank groups
  static constexpr int kTeamCols = kD / kTeam;  // elements of O that a thread holds
  float q[kTileRows][kPitch], k[kTileKeys][kPitch], v[kTileKeys][kPitch];
  float p[kTileRows][kTileKeys + 8];  // four teams of a warp store in different banks
};

// What a team knows of its query so far; o is spread over its threads: columns member + kTeam i.
template <int kD>
struct RowState {
  float largest, sum;
  float o[Tile<kD>::kTeamCols];
};

// Copies kTileRows rows, from row `first` on, of a matrix of `rows` rows; past the last, zeros.
template <int kD>
__device__ void load_tile(float (*to)[Tile<kD>::kPitch], const float* from, int first, int rows) {
  for (int i = threadIdx.x; i < kTileRows * kD / 4; i += kTileThreads) {
    const int row = i / (kD / 4), col = i % (kD / 4) * 4;
    float4 four = make_float4(0, 0, 0, 0);
    if (first + row < rows) {
      four = *reinterpret_cast<const float4*>(from + (first + row) * kD + col);
    }
    *reinterpret_cast<float4*>(&to[row][col]) = four;
  }
}

// The largest, or the sum, over a team; all its threads get it.
template <bool kOfSum>
__device__ float over_team(float value) {
  for (int step = kTeam / 2; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(0xffffffff, value, step);
    value = kOfSum ? value + other : fmaxf(value, other);
  }
  return value;
}

// Adds the tile's keys to the state of this thread's query, which sees the first `visible` of them.
template <int kD>
__device__ void add_tile(Tile<kD>& tile, RowState<kD>& state, int visible, float scale) {
  const int row = threadIdx.x / kTeam, member = threadIdx.x % kTeam;

  // Scores: member m has keys m, m + 8, ... Four elements of a query and a key at a time.
  float score[kTeamKeys] = {};
  for (int c = 0; c < kD; c += 4) {
    const float4 q = *reinterpret_cast<const float4*>(&tile.q[row][c]);
    for (int i = 0; i < kTeamKeys; ++i) {
      const float4 k = *reinterpret_cast<const float4*>(&tile.k[member + kTeam * i][c]);
      score[i] += q.x * k.x + q.y * k.y + q.z * k.z + q.w * k.w;
    }
  }
  float largest = state.largest;
  for (int i = 0; i < kTeamKeys; ++i) {
    score[i] = member + kTeam * i < visible ? scale * score[i] : -INFINITY;
    largest = fmaxf(largest, score[i]);
  }
  largest = over_team<false>(largest);

  // Weights, relative to the largest score so far; -infinity as long as nothing was visible.
  const float shift = largest == -INFINITY ? 0.0f : largest;
  const float shrink = expf(state.largest - shift);
  float sum = 0;
  for (int i = 0; i < kTeamKeys; ++i) {
    const float weight = expf(score[i] - shift);
    tile.p[row][member + kTeam * i] = weight;
    sum += weight;
  }
  state.sum = state.sum * shrink + over_team<true>(sum);
  state.largest = largest;
  __syncwarp();  // a team's weights are complete: they do not leave the warp

  for (int i = 0; i < Tile<kD>::kTeamCols; ++i) state.o[i] *= shrink;
  for (int j = 0; j < kTileKeys; ++j) {
    const float weight = tile.p[row][j];
    for (int i = 0; i < Tile<kD>::kTeamCols; ++i) {
      state.o[i] += weight * tile.v[j][member + kTeam * i];
    }
  }
}
