// A tile of the backward pass in shared memory: 32 queries against 32 keys, by 256 threads.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "07_flash_attention/shape.hpp"

namespace backward {

constexpr int kTileRows = 32;  // queries, and keys
constexpr int kTileThreads = 256;
constexpr int kTeam = kTileThreads / kTileRows;  // neighbouring lanes that share a row
constexpr int kTeamKeys = kTileRows / kTeam;     // pairs a thread computes

template <int kD>
struct FloatTile {
  // kCols: of a row, a thread's: member, member + kTeam, ...
  static constexpr int kTileN = kTileRows, kTileM = kTileRows, kCols = kD / kTeam;
  float k[kTileRows][kD + 1], v[kTileRows][kD + 1];
  float q[kTileRows][kD + 1], d_o[kTileRows][kD + 1];
  float p[kTileRows][kTileRows + 1], ds[kTileRows][kTileRows + 1];  // [query][key]
};

// Copies 32 rows from row `first` on of a matrix of `rows` rows, zeros past the last.
template <int kPitch, class T>
__device__ void load_tile(float (*to)[kPitch], const T* from, int first, int rows) {
  constexpr int kD = kPitch - 1;
  for (int i = threadIdx.x; i < kTileRows * kD; i += kTileThreads) {
    const int row = i / kD, col = i % kD;
    to[row][col] = first + row < rows ? static_cast<float>(from[(first + row) * kD + col]) : 0.0f;
  }
}

// P = exp(S - lse) and dS = P (dP - D) of the tile, 0 where the query does not see the key. head:
// of the queries.
template <int kD>
__device__ void weigh_tile(FloatTile<kD>& tile, const Shape& shape, const RowStats& rows,
                           std::int64_t head, int first_row, int first_key) {
  const int row = threadIdx.x / kTeam, member = threadIdx.x % kTeam, query = first_row + row;
  const float lse2 = rows.lse2[head * rows.pitch + query];
  const float delta = rows.delta[head * rows.pitch + query];
  float s[kTeamKeys] = {}, dp[kTeamKeys] = {};
  for (int c = 0; c < kD; ++c) {
    for (int i = 0; i < kTeamKeys; ++i) {
      s[i] += tile.q[row][c] * tile.k[member + kTeam * i][c];
      dp[i] += tile.d_o[row][c] * tile.v[member + kTeam * i][c];
    }
  }
  for (int i = 0; i < kTeamKeys; ++i) {
    const int key = member + kTeam * i;
    const bool seen = shape.sees(query, first_key + key);
    const float p = seen ? exp2f(attention::kLog2E * shape.scale() * s[i] - lse2) : 0.0f;
    tile.p[row][key] = p;
    tile.ds[row][key] = seen ? p * (dp[i] - delta) : 0.0f;
  }
}

// sum += this thread's columns of row `own` of (weights m), or of (weights^T m) if kTransposed.
template <bool kTransposed, int kCols, int kPitch>
__device__ void add_product(float (&sum)[kCols], const float (&weights)[kTileRows][kTileRows + 1],
                            const float (&m)[kTileRows][kPitch]) {
  const int own = threadIdx.x / kTeam, member = threadIdx.x % kTeam;
  for (int j = 0; j < kTileRows; ++j) {
    const float weight = kTransposed ? weights[j][own] : weights[own][j];
    for (int i = 0; i < kCols; ++i) sum[i] += weight * m[j][member + kTeam * i];
  }
}

// Writes factor sum to this thread's columns of a row.
template <int kCols, class T>
__device__ void store_row(T* row, const float (&sum)[kCols], float factor) {
  for (int i = 0; i < kCols; ++i) row[threadIdx.x % kTeam + kTeam * i] = T(factor * sum[i]);
}

}  // namespace backward
