// The sum over a warp by shuffles, and the mask that names all its lanes.
#pragma once

#include <cuda_runtime.h>

namespace atomics_streams {

constexpr unsigned kAllLanes = 0xffffffffu;

// The sum over the lanes of a full warp, in lane 0.
template <class T>
__device__ inline T warp_sum(T value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(kAllLanes, value, step);
  return value;
}

}  // namespace atomics_streams
