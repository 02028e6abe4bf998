// How the lanes of many warps find their places in one queue.
#pragma once

#include <cuda_runtime.h>

namespace branch {

constexpr unsigned kAllLanes = 0xFFFFFFFF;  // a bit for each lane that takes part

// By a whole warp: raises *end, shared by the block, by the number of lanes in `lanes` and returns
// this lane's place among them, counted from the old end.
__device__ inline int place_in_queue(unsigned lanes, int* end) {
  const int lane = threadIdx.x % 32;
  int begin = 0;
  if (lane == 0) begin = atomicAdd(end, __popc(lanes));  // one addition for the warp
  begin = __shfl_sync(kAllLanes, begin, 0);
  const unsigned lower_lanes = (1u << lane) - 1;
  return begin + __popc(lanes & lower_lanes);
}

}  // namespace branch
