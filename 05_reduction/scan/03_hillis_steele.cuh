// hillis_steele: one block; in step d, every thread adds what lies d places before it.
//
// After the steps 1, 2, 4, ... each element holds the sum of all up to itself (Hillis and Steele,
// "Data parallel algorithms", 1986). Two buffers take turns, so that nobody overwrites what another
// still has to read. The block goes through the array tile by tile and carries the sum along. What
// is still wrong: 10 additions per element where the loop makes one, and a single block.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/scan/kit/blelloch.cuh"
#include "common/kit/check.cuh"

namespace scan {

__global__ void __launch_bounds__(kScanTile)
    scan_hillis_steele_kernel(const float* x, float* y, std::int64_t n) {
  __shared__ float buffers[2][kScanTile];
  const int t = threadIdx.x;
  float before = 0;  // the sum of all earlier tiles

  for (std::int64_t tile = 0; tile < n; tile += kScanTile) {
    const std::int64_t i = tile + t;
    buffers[0][t] = i < n ? x[i] : 0;
    __syncthreads();

    int from = 0;
    for (int d = 1; d < kScanTile; d *= 2) {
      const float earlier = t >= d ? buffers[from][t - d] : 0;
      buffers[1 - from][t] = buffers[from][t] + earlier;
      from = 1 - from;
      __syncthreads();
    }
    if (i < n) y[i] = before + buffers[from][t];
    before += buffers[from][kScanTile - 1];
    __syncthreads();  // all have read the last element before the next tile overwrites it
  }
}

// y[i] = x[0] + ... + x[i] for all i < n. Device pointers.
inline void scan_hillis_steele(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  scan_hillis_steele_kernel<<<1, kScanTile, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace scan
