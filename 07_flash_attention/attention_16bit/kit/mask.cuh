// Which keys a query sees: how many tiles of keys there are to meet, which of them hold keys that
// somebody does not see, and what becomes of their scores.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "07_flash_attention/shape.hpp"
#include "common/kit/launch.cuh"

namespace attention {

// Of one head, its keys in tiles of kTileN. Only the last tiles hold keys that a query of a block
// does not see: the tail of K, and the diagonal of a causal mask. The rungs go through the tiles
// backwards, so these come first, and the loop over all others has no mask.
template <bool kCausal, int kTileN>
struct Mask {
  int n_q, n_k;

  // region tiles
  // Tiles that any of `count` queries from `first_row` on sees: the first tiles().
  __device__ int tiles(int first_row, int count) const {
    const int last_row = min(first_row + count, n_q) - 1;
    return kit::divide_up(visible_keys<kCausal>(last_row, n_q, n_k), kTileN);
  }

  // Tiles that query `first_row` sees wholly, and so do all queries after it: the first of them.
  __device__ int unmasked_tiles(int first_row) const {
    return visible_keys<kCausal>(first_row, n_q, n_k) / kTileN;
  }
  // endregion

  // Whether query `row`, and so all before it, sees nothing of a tile.
  __device__ bool hides(int tile, int row) const {
    return visible_keys<kCausal>(row, n_q, n_k) <= tile * kTileN;
  }

  // Scores of keys that their query does not see become -infinity, whose weight is 0. s: a lane's
  // scores of rows `row` and `row` + 8, laid out as online_softmax.cuh says.
  template <int N>
  __device__ void apply(float (&s)[N], int row, int tile) const {
    const int visible[2] = {visible_keys<kCausal>(row, n_q, n_k) - tile * kTileN,
                            visible_keys<kCausal>(row + 8, n_q, n_k) - tile * kTileN};
    const int first = 2 * (threadIdx.x % 4);
    const int limit[2] = {visible[0] - first, visible[1] - first};
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (8 * (i / 4) + i % 2 >= limit[i / 2 % 2]) s[i] = -INFINITY;
    }
  }
};

}  // namespace attention
