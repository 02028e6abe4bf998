// reduce_then_scan: the first kernel only sums, the last one scans.
//
// What the second kernel needs from the first is the totals of the tiles and nothing else, so the
// first need not write y. Then the third reads x instead of y, scans, and adds what lies before.
// Three passes over memory instead of four: read, read, write. On the H200 it gains nothing here,
// because the tree in shared memory is slower than the memory. The next rung changes that.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/scan/kit/blelloch.cuh"
#include "common/kit/check.cuh"

namespace scan {

// totals[b] is the sum of tile b.
__global__ void __launch_bounds__(kScanTile / 2)
    scan_reduce_then_scan_sums_kernel(const float* x, std::int64_t n, float* totals) {
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

// sums[b] is the sum of the tiles 0 .. b.
__global__ void __launch_bounds__(kScanTile / 2)
    scan_reduce_then_scan_kernel(const float* x, float* y, std::int64_t n, const float* sums) {
  constexpr int kHalf = kScanTile / 2;
  __shared__ float tile[kScanTile];
  const int t = threadIdx.x;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kScanTile + t;
  const float low = i < n ? x[i] : 0;
  const float high = i + kHalf < n ? x[i + kHalf] : 0;
  tile[t] = low;
  tile[t + kHalf] = high;
  __syncthreads();
  blelloch_scan(tile);
  const float before = blockIdx.x == 0 ? 0 : sums[blockIdx.x - 1];
  if (i < n) y[i] = before + tile[t] + low;
  if (i + kHalf < n) y[i + kHalf] = before + tile[t + kHalf] + high;
}

// y[i] = x[0] + ... + x[i] for all i < n. Device pointers; totals: a value per kScanTile elements.
inline void scan_reduce_then_scan(const float* x, float* y, std::int64_t n, float* totals,
                                  cudaStream_t stream) {
  const std::int64_t tiles = (n + kScanTile - 1) / kScanTile;
  if (tiles == 0) return;
  scan_reduce_then_scan_sums_kernel<<<tiles, kScanTile / 2, 0, stream>>>(x, n, totals);
  CUDA_CHECK(cudaGetLastError());
  scan_totals(totals, tiles, stream);
  scan_reduce_then_scan_kernel<<<tiles, kScanTile / 2, 0, stream>>>(x, y, n, totals);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace scan
