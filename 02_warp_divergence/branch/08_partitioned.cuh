// partitioned: the whole array is divided first, then a warp finds 32 expensive elements.
//
// As in `tiled`, a block fills a queue. But it does not compute it: it copies it to a list in
// global memory, and a second kernel takes the list. A block gets its stretch of the list by one
// atomic addition. Now every lane has work, and no block is left with more than its share. The
// price: scratch memory, the list written and read, y written at scattered places, and a second
// launch.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "02_warp_divergence/branch/kit/paths.cuh"
#include "02_warp_divergence/branch/kit/queue.cuh"
#include "common/kit/check.cuh"

namespace branch {

constexpr int kListBlock = 256;
constexpr int kListItems = 8;  // elements of a thread
constexpr int kListTile = kListBlock * kListItems;

// Does the cheap elements and lists the places of the expensive ones, in any order. *count is 0
// before and their number after.
__global__ void __launch_bounds__(kListBlock)
    branch_split_kernel(const float* x, float* y, std::int64_t n, std::int64_t* places,
                        unsigned long long* count) {
  __shared__ int owner[kListTile];
  __shared__ int end;
  __shared__ unsigned long long begin;  // of this block's stretch of the list
  if (threadIdx.x == 0) end = 0;
  __syncthreads();

  // As in the rung before, without the values: the second kernel loads them again.
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * kListTile;
  float value[kListItems];
#pragma unroll
  for (int p = 0; p < kListItems; ++p) {
    const std::int64_t i = tile + p * kListBlock + threadIdx.x;
    value[p] = i < n ? x[i] : 0.0f;  // cheap, past the end
  }
#pragma unroll
  for (int p = 0; p < kListItems; ++p) {
    const int in_tile = p * kListBlock + threadIdx.x;
    const bool expensive = is_expensive(value[p]);
    if (tile + in_tile < n && !expensive) y[tile + in_tile] = cheap_path(value[p]);

    const unsigned expensive_lanes = __ballot_sync(kAllLanes, expensive);
    if (expensive_lanes != 0) {  // the same for the whole warp
      const int place = place_in_queue(expensive_lanes, &end);
      if (expensive) owner[place] = in_tile;
    }
  }
  __syncthreads();

  // One addition reserves the block's part of the list; only then is its place known.
  if (threadIdx.x == 0 && end > 0) begin = atomicAdd(count, static_cast<unsigned long long>(end));
  __syncthreads();
  for (int t = threadIdx.x; t < end; t += kListBlock) places[begin + t] = tile + owner[t];
}

// Any grid: how long the list is stands in device memory, so each thread walks on by the grid.
__global__ void branch_partitioned_kernel(const float* x, float* y, const std::int64_t* places,
                                          const unsigned long long* count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t end = static_cast<std::int64_t>(*count);
  for (std::int64_t k = first; k < end; k += stride) {
    const std::int64_t i = places[k];
    y[i] = expensive_path(x[i]);
  }
}

// y[i] = x[i] < 0 ? expensive_path(x[i]) : cheap_path(x[i]) for all i < n, n > 0. Device pointers;
// places has room for n, count for one.
inline void branch_partitioned(const float* x, float* y, std::int64_t n, std::int64_t* places,
                               unsigned long long* count, cudaStream_t stream) {
  const std::int64_t tiles = (n + kListTile - 1) / kListTile;
  const std::int64_t most = 1024;  // blocks of the second kernel: about what an H200 holds
  CUDA_CHECK(cudaMemsetAsync(count, 0, sizeof *count, stream));
  branch_split_kernel<<<tiles, kListBlock, 0, stream>>>(x, y, n, places, count);
  CUDA_CHECK(cudaGetLastError());
  const std::int64_t grid = std::min(tiles * kListItems, most);
  branch_partitioned_kernel<<<grid, kListBlock, 0, stream>>>(x, y, places, count);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace branch
