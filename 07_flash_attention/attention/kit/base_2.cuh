// The softmax of a tile in base 2, masked where it must be. For `base_2` and `async_copy`.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "07_flash_attention/attention/kit/register_tile.cuh"
#include "07_flash_attention/attention/kit/shared_tile.cuh"
#include "07_flash_attention/shape.hpp"

namespace attention {

// -infinity for keys that a row does not see. first_visible: how many of the tile's keys the
// block's first row sees, as a causal mask has it; inside: how many there are at all.
template <class Tile, bool kCausal>
__device__ void mask_scores(float (&score)[Tile::kThreadM][Tile::kThreadN], int first_visible,
                            int inside) {
  const Lane<Tile> lane{};
#pragma unroll
  for (int r = 0; r < Tile::kThreadM; ++r) {
    const int visible = kCausal ? min(inside, first_visible + lane.row(r)) : inside;
#pragma unroll
    for (int i = 0; i < Tile::kThreadN; ++i) {
      if (lane.member + 16 * i >= visible) score[r][i] = -INFINITY;
    }
  }
}

// Turns scores into weights, which go to tile.p, and brings the state to their scale. scale: that
// of the scores times log2(e).
template <class Tile>
__device__ void update_softmax(typename Tile::Shared& tile, RegisterState<Tile>& state,
                               const float (&score)[Tile::kThreadM][Tile::kThreadN], float scale) {
  const Lane<Tile> lane{};
#pragma unroll
  for (int r = 0; r < Tile::kThreadM; ++r) {
    // The new maximum of the row, which 16 lanes share.
    float row_max = score[r][0];
#pragma unroll
    for (int i = 1; i < Tile::kThreadN; ++i) row_max = fmaxf(row_max, score[r][i]);
    row_max = over_row<false, 16>(row_max);

    // What was summed is brought to its scale. Nothing seen yet: 0 is subtracted, not -infinity.
    row_max = fmaxf(state.row_max[r], scale * row_max);
    const float shift = row_max == -INFINITY ? 0.0f : row_max;
    const float correction = exp2f(state.row_max[r] - shift);
    state.row_max[r] = row_max;
    state.sum[r] *= correction;
#pragma unroll
    for (int i = 0; i < Tile::kThreadN; ++i) {
      const float weight = exp2f(fmaf(score[r][i], scale, -shift));
      tile.p[lane.row(r)][lane.member + 16 * i] = weight;
      state.sum[r] += weight;
    }
    rescale(state.o[r], correction);
  }
  __syncwarp();  // the weights of a row stay within its warp
}

// What every kernel with this softmax ends with: o / sum and the log-sum-exp, for the rows that
// exist. The pointers are those of the head.
template <class Tile>
__device__ void store_rows(const RegisterState<Tile>& state, float* o, float* lse, int first_row,
                           int n_q) {
  const Lane<Tile> lane{};
#pragma unroll
  for (int r = 0; r < Tile::kThreadM; ++r) {
    const float sum = over_row<true, 16>(state.sum[r]);
    const int row = first_row + lane.row(r);
    if (row >= n_q) continue;
    const float factor = sum > 0 ? 1 / sum : 0.0f;
    store_row(state.o[r], factor, o + row * Tile::kD + 4 * lane.member);
    if (lane.member == 0) lse[row] = kLn2 * (state.row_max[r] + log2f(sum));
  }
}

}  // namespace attention
