// Counters in columns, one for each lane: clearing them, handing them in.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "06_atomics_streams/histogram/kit/bins.hpp"
#include "06_atomics_streams/kit/warp_sum.cuh"
#include "common/kit/launch.cuh"

namespace histogram {

constexpr int kColumnBlock = 1024;  // threads; one block fills half an SM
constexpr int kInFlight = 4;        // pieces that a thread asks for at once

// Clears the counters, four at a time.
__device__ inline void clear_columns(unsigned* columns) {
  for (int c = threadIdx.x; c < 32 * kBins / 4; c += blockDim.x) {
    reinterpret_cast<uint4*>(columns)[c] = make_uint4(0, 0, 0, 0);
  }
}

// Adds the 32 columns up and hands the sums in. Eight threads share a bin, four counters each; the
// sums meet in `sums`, so that 32 neighbouring bins go to memory in one request.
__device__ inline void hand_in_columns(const unsigned* columns, unsigned* sums, unsigned* counts) {
  static_assert(8 * kBins % kColumnBlock == 0, "all lanes of a warp reach the shuffles");
  for (int c = threadIdx.x; c < 8 * kBins; c += kColumnBlock) {
    const uint4 four = reinterpret_cast<const uint4*>(columns)[c];
    unsigned sum = four.x + four.y + four.z + four.w;
    for (int step = 4; step > 0; step /= 2)
      sum += __shfl_down_sync(atomics_streams::kAllLanes, sum, step, 8);
    if (c % 8 == 0) sums[c / 8] = sum;
  }
  __syncthreads();
  if (threadIdx.x < kBins && sums[threadIdx.x] > 0) {
    atomicAdd(&counts[threadIdx.x], sums[threadIdx.x]);
  }
}

// One block per SM, fewer if there is not that much to do.
inline int column_grid(std::int64_t n) {
  const int needed = kit::divide_up(n / 16, kColumnBlock);
  return std::clamp(needed, 1, kit::multiprocessor_count());
}

}  // namespace histogram
