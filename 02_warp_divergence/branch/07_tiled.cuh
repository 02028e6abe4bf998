// tiled: eight elements per thread, so a block's queue fills whole warps.
//
// Of 2048 elements about 41 are expensive: enough for one full warp and a part of a second. All
// eight loads of a thread are in flight before the first is looked at, and the two barriers are
// shared by eight times the elements. What is still wrong: how well the last warp is filled depends
// on the tile, and a tile full of expensive elements keeps its block busy while others have
// finished.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "02_warp_divergence/branch/kit/paths.cuh"
#include "02_warp_divergence/branch/kit/queue.cuh"
#include "common/kit/check.cuh"

namespace branch {

constexpr int kTiledBlock = 256;
constexpr int kTiledItems = 8;
constexpr int kTile = kTiledBlock * kTiledItems;

__global__ void __launch_bounds__(kTiledBlock)
    branch_tiled_kernel(const float* x, float* y, std::int64_t n) {
  static_assert(kTiledBlock % 32 == 0, "whole warps only");
  __shared__ float queue[kTile];
  __shared__ int owner[kTile];  // place in the tile that an entry of the queue came from
  __shared__ int end;
  if (threadIdx.x == 0) end = 0;
  __syncthreads();

  // All loads are in flight before the first value is looked at.
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * kTile;
  float value[kTiledItems];
#pragma unroll
  for (int p = 0; p < kTiledItems; ++p) {
    const std::int64_t i = tile + p * kTiledBlock + threadIdx.x;
    value[p] = i < n ? x[i] : 0.0f;  // cheap, past the end
  }

  // Cheap elements are finished here, expensive ones queue, whichever warp they are in.
#pragma unroll
  for (int p = 0; p < kTiledItems; ++p) {
    const int in_tile = p * kTiledBlock + threadIdx.x;
    const bool expensive = is_expensive(value[p]);
    if (tile + in_tile < n && !expensive) y[tile + in_tile] = cheap_path(value[p]);

    const unsigned expensive_lanes = __ballot_sync(kAllLanes, expensive);
    if (expensive_lanes != 0) {  // the same for the whole warp
      const int place = place_in_queue(expensive_lanes, &end);
      if (expensive) {
        queue[place] = value[p];
        owner[place] = in_tile;
      }
    }
  }
  __syncthreads();

  // The queue is shared out anew: every warp but the last finds 32 expensive elements.
  for (int t = threadIdx.x; t < end; t += kTiledBlock) {
    y[tile + owner[t]] = expensive_path(queue[t]);
  }
}

// y[i] = x[i] < 0 ? expensive_path(x[i]) : cheap_path(x[i]) for all i < n, n > 0. Device pointers.
inline void branch_tiled(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  const std::int64_t grid = (n + kTile - 1) / kTile;
  branch_tiled_kernel<<<grid, kTiledBlock, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace branch
