// Blelloch's scan of a tile in shared memory, and of the totals of all tiles: the second of three
// kernels.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/check.cuh"

namespace scan {

constexpr int kScanTile = 1024;  // elements; the tile of the rungs that scan in shared memory

// Replaces each of the kScanTile elements by the sum of those before it, and returns the sum of
// all. kScanTile / 2 threads must call it, after a barrier; another one follows before it returns.
__device__ inline float blelloch_scan(float* tile) {
  const int t = threadIdx.x;
  for (int s = 1; s < kScanTile; s *= 2) {  // up: right child += left child
    const int right = (t + 1) * 2 * s - 1;
    if (right < kScanTile) tile[right] += tile[right - s];
    __syncthreads();
  }
  const float total = tile[kScanTile - 1];
  __syncthreads();
  if (t == 0) tile[kScanTile - 1] = 0;  // nothing lies before the whole
  __syncthreads();

  for (int s = kScanTile / 2; s > 0; s /= 2) {  // down
    const int right = (t + 1) * 2 * s - 1;
    if (right < kScanTile) {
      const float of_left = tile[right - s];
      tile[right - s] = tile[right];
      tile[right] += of_left;
    }
    __syncthreads();
  }
  return total;
}

// The kernel of `blelloch`, for the totals: y[i] = x[0] + ... + x[i] for all i < n; x may be y.
__global__ void __launch_bounds__(kScanTile / 2)
    scan_totals_kernel(const float* x, float* y, std::int64_t n) {
  constexpr int kHalf = kScanTile / 2;
  __shared__ float tile[kScanTile];
  const int t = threadIdx.x;
  float before = 0;  // the sum of all earlier tiles

  for (std::int64_t base = 0; base < n; base += kScanTile) {
    const std::int64_t i = base + t;
    const float low = i < n ? x[i] : 0;
    const float high = i + kHalf < n ? x[i + kHalf] : 0;
    tile[t] = low;
    tile[t + kHalf] = high;
    __syncthreads();
    const float total = blelloch_scan(tile);
    // What lies before an element, and the element itself.
    if (i < n) y[i] = before + tile[t] + low;
    if (i + kHalf < n) y[i + kHalf] = before + tile[t + kHalf] + high;
    before += total;
    __syncthreads();  // all have read the tile before the next one overwrites it
  }
}

// Scans the totals of tiles in place, with one block.
inline void scan_totals(float* totals, std::int64_t count, cudaStream_t stream) {
  scan_totals_kernel<<<1, kScanTile / 2, 0, stream>>>(totals, totals, count);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace scan
