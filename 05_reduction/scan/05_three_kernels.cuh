// three_kernels: all blocks scan; the barrier in between is the end of a kernel.
//
// The first kernel scans every tile for itself and keeps the totals. The second, `blelloch`, scans
// the totals. The third adds to each tile what lies before it. Now all SMs work. What is still
// wrong: every element is read twice and written twice, where one of each is needed, and the tiles
// are still scanned through shared memory, with 23 barriers each.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/scan/kit/blelloch.cuh"
#include "common/kit/check.cuh"

namespace scan {

__global__ void __launch_bounds__(kScanTile / 2)
    scan_three_kernels_kernel(const float* x, float* y, std::int64_t n, float* totals) {
  constexpr int kHalf = kScanTile / 2;
  __shared__ float tile[kScanTile];
  const int t = threadIdx.x;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kScanTile + t;
  const float low = i < n ? x[i] : 0;
  const float high = i + kHalf < n ? x[i + kHalf] : 0;
  tile[t] = low;
  tile[t + kHalf] = high;
  __syncthreads();
  const float total = blelloch_scan(tile);
  if (i < n) y[i] = tile[t] + low;
  if (i + kHalf < n) y[i + kHalf] = tile[t + kHalf] + high;
  if (t == 0) totals[blockIdx.x] = total;
}

// sums[b] is the sum of the tiles 0 .. b. The grid leaves out the first tile, which is finished.
__global__ void __launch_bounds__(kScanTile / 2)
    scan_three_kernels_add_kernel(float* y, std::int64_t n, const float* sums) {
  constexpr int kHalf = kScanTile / 2;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x + 1) * kScanTile + threadIdx.x;
  const float before = sums[blockIdx.x];
  if (i < n) y[i] += before;
  if (i + kHalf < n) y[i + kHalf] += before;
}

// y[i] = x[0] + ... + x[i] for all i < n. Device pointers; totals: a value per kScanTile elements.
inline void scan_three_kernels(const float* x, float* y, std::int64_t n, float* totals,
                               cudaStream_t stream) {
  const std::int64_t tiles = (n + kScanTile - 1) / kScanTile;
  if (tiles == 0) return;
  scan_three_kernels_kernel<<<tiles, kScanTile / 2, 0, stream>>>(x, y, n, totals);
  CUDA_CHECK(cudaGetLastError());
  if (tiles == 1) return;
  scan_totals(totals, tiles, stream);
  scan_three_kernels_add_kernel<<<tiles - 1, kScanTile / 2, 0, stream>>>(y, n, totals);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace scan
