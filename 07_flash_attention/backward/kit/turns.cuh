// Blocks that add to dQ in turn, so that the sum is the same in each run: whose turn it is, and the
// order of steps in which they wait for each other least.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/shape.hpp"

namespace backward {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// A block's turn to add to a part of dQ. count: tiles of keys that have been added to it, counted
// in global memory; number: those that come before the block's. Other things that blocks wait for
// are counted in the same way: tiles of a head that are done, errands.
struct DqSemaphore {
  int* count;
  int number;

  // region wait
  // Until all before it have added. What they added can be seen then.
  __device__ __forceinline__ void wait() const {
    int counted = 0;
    while (counted < number) {
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(counted) : "l"(count) : "memory");
    }
  }
  // endregion

  // By one thread, which has seen all additions done: whoever reads the count, sees them, too.
  __device__ __forceinline__ void pass() const {
    asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(count) : "memory");
  }
};

// From the last queries to the first, and at each tile of them through the heads that share the
// keys: where fewer queries see them, a block ends earlier, and does not begin later.
template <class Tile>
struct TileRangeFromLast : TileRange<Tile> {
  __device__ __forceinline__ explicit TileRangeFromLast(const TileRange<Tile>& range)
      : TileRange<Tile>(range) {}
  __device__ __forceinline__ std::int64_t head(int step) const {
    return this->kv_head * this->group + step % this->group;
  }
  __device__ __forceinline__ int first_row(int step) const {
    return (this->first_tile + this->tiles - 1 - step / this->group) * Tile::kTileM;
  }

  struct Walk {
    const TileRangeFromLast& steps;
    int tile, head = 0;

    __device__ __forceinline__ explicit Walk(const TileRangeFromLast& steps)
        : steps(steps), tile(steps.tiles - 1) {}
    __device__ __forceinline__ int row() const { return (steps.first_tile + tile) * Tile::kTileM; }
    __device__ __forceinline__ int next(int head_tiles) {
      if (++head < steps.group) return head_tiles;
      head = 0;
      --tile;
      return -(steps.group - 1) * head_tiles - 1;
    }
  };
};
#endif

}  // namespace backward
