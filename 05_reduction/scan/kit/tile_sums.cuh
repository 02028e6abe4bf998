// The first of three passes: the sum of each tile, and nothing else.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/scan/kit/tile.cuh"

namespace scan {

// totals[b] is the sum of tile b.
__global__ void __launch_bounds__(kScanTile / 2)
    scan_reduce_kernel(const float* x, std::int64_t n, float* totals) {
  __shared__ float sums[kScanTile / 2];
  const int t = threadIdx.x;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kScanTile + t;
  sums[t] = (i < n ? x[i] : 0) + (i + kScanTile / 2 < n ? x[i + kScanTile / 2] : 0);
  __syncthreads();
  for (int s = kScanTile / 4; s > 0; s /= 2) {
    if (t < s) sums[t] += sums[t + s];
    __syncthreads();
  }
  if (t == 0) totals[blockIdx.x] = sums[0];
}

}  // namespace scan
