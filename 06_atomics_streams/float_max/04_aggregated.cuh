// aggregated: the ladder of `one_cell`, climbed with another operator.
//
// Registers, shuffles, then the cell: a thread keeps the largest of its own elements, a warp finds
// the largest of its lanes, and one request per warp is left. The last step may be anything: a loop
// of compare and swap, a native atomic, or a lock. What is left to do: wider loads, as chapter 05
// shows.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "06_atomics_streams/float_max/kit/atomic_max.cuh"
#include "06_atomics_streams/float_max/kit/start.cuh"
#include "06_atomics_streams/kit/warp_sum.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace float_max {

__global__ void float_max_aggregated_kernel(const float* x, std::int64_t n, float* largest) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  float most = kLowest;
  for (std::int64_t i = first; i < n; i += stride) most = fmaxf(most, x[i]);
  for (int step = 16; step > 0; step /= 2) {
    most = fmaxf(most, __shfl_down_sync(atomics_streams::kAllLanes, most, step));
  }
  if (threadIdx.x % 32 == 0) atomic_max_by_bits(largest, most);
}

// *largest = the largest of x[0 .. n), minus infinity if n = 0. Device pointers.
inline void float_max_aggregated(const float* x, std::int64_t n, float* largest,
                                 cudaStream_t stream) {
  const int block = 256;
  static const int most = kit::resident_blocks(float_max_aggregated_kernel, block);
  const int grid = static_cast<int>(std::clamp<std::int64_t>((n + block - 1) / block, 1, most));
  float_max_start(largest, stream);
  float_max_aggregated_kernel<<<grid, block, 0, stream>>>(x, n, largest);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace float_max
