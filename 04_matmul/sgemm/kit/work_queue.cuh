// What a block computes that stays for all its tiles: some of them whole, then its part of those
// that are shared.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/grouped_tiles.cuh"
#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/kit/stream_k_plan.cuh"

namespace matmul::sgemm {

// A tile, or a part of its sum over k.
struct WorkUnit {
  TileOrigin tile;
  int begin, count;  // the first k tile, and how many
  bool is_shared;    // others have parts of the same elements
};

// What this block computes, one after the other: every gridDim.x-th whole tile, then its part.
template <class T>
struct WorkQueue {
  int m, n;
  const StreamKPlan& plan;
  int tile;                  // the next whole one
  std::int64_t first, last;  // k tiles of its part: the next, and the first that is not in it

  __device__ WorkQueue(int m, int n, const StreamKPlan& plan)
      : m(m), n(n), plan(plan), tile(static_cast<int>(blockIdx.x)), first(0), last(0) {
    if (plan.parts > 0) {
      first = plan.begin(tile);
      last = plan.begin(tile + 1);
    }
  }
  __device__ bool next(WorkUnit& unit) {
    int index = tile;
    if (tile < plan.whole) {
      unit.begin = 0;
      unit.count = plan.k_tiles;
      unit.is_shared = false;
      tile += static_cast<int>(gridDim.x);
    } else if (first < last) {
      const SharedTile shared = plan.tile_at(first, last);
      index = shared.tile;
      unit.begin = shared.begin;
      unit.count = shared.count;
      unit.is_shared = true;
      first += unit.count;
    } else {
      return false;
    }
    unit.tile = grouped_tile<T::kTileM, T::kTileN>(m, n, index);
    return true;
  }
};

}  // namespace matmul::sgemm
