// Which tiles of keys the queries of a tile see, and the mask of those that some see in part.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "07_flash_attention/prefill/shape.hpp"
#include "common/kit/launch.cuh"

namespace prefill {

// Tiles [begin, end) hold all keys that any of these queries sees; all of the queries see all keys
// of tiles [full_begin, full_end).
struct KeyTiles {
  int begin, end, full_begin, full_end;
};

// region of_queries
// Those of queries `first` to `last`: of the first one the range ends first, of the last one it
// begins last.
template <int kTileN>
__host__ __device__ __forceinline__ KeyTiles key_tiles(const Visibility& seen, int first,
                                                       int last) {
  const KeyRange of_first = seen.keys(first), of_last = seen.keys(last);
  return {of_first.begin / kTileN, kit::divide_up(of_last.end, kTileN),
          kit::divide_up(of_last.begin, kTileN), of_first.end / kTileN};
}
// endregion

#if defined(__CUDA_ARCH__)
// Scores of keys that their query does not see become -infinity, whose weight is 0. s: a lane's
// scores of two rows, as accumulators.cuh says; queries: those of the rows.
template <int kTileN, int N>
__device__ __forceinline__ void hide_unseen(float (&s)[N], const Visibility& seen,
                                            const int (&queries)[2], int tile) {
  const int first = tile * kTileN + 2 * (threadIdx.x % 4);
  for (int r = 0; r < 2; ++r) {
    const KeyRange keys = seen.keys(queries[r]);
    // Register i is in column 8 (i / 4) + i % 2 from `first` on.
    const int begin = keys.begin - first, end = keys.end - first;
#pragma unroll
    for (int i = 2 * r; i < N; i += i % 2 == 0 ? 1 : 3) {
      if (8 * (i / 4) + i % 2 >= end) s[i] = -INFINITY;
    }
    if (seen.window == 0) continue;
#pragma unroll
    for (int i = 2 * r; i < N; i += i % 2 == 0 ? 1 : 3) {
      if (8 * (i / 4) + i % 2 < begin) s[i] = -INFINITY;
    }
  }
}
#endif

}  // namespace prefill
