// A tile scheduler: a counter in global memory that hands out tiles to persistent blocks.
#pragma once

#include <cuda_runtime.h>

#include "common/kit/launch_slots.cuh"

namespace attention {

// For each of 64 launches side by side: [0] tiles handed out besides the first of each block, [1]
// blocks that are done. The last block leaves both at 0.
static __device__ int tile_counters[64][2];

struct TileCounter {
  int* counts;

  // For one launch.
  static TileCounter of_launch() {
    static kit::LaunchSlots slots(tile_counters);
    return {*slots.next()};
  }

#if defined(__CUDA_ARCH__)
  // The next tile. A block's first one is that with its own number.
  __device__ __forceinline__ int next() const {
    return static_cast<int>(gridDim.x) + atomicAdd(counts, 1);
  }

  // By the thread that asked for tiles, when it has been told that there are no more.
  __device__ __forceinline__ void leave() const {
    __threadfence();
    if (atomicAdd(&counts[1], 1) != static_cast<int>(gridDim.x) - 1) return;
    __threadfence();  // all that the others asked for comes before
    counts[0] = 0;
    counts[1] = 0;
  }
#endif
};

}  // namespace attention
