// blelloch: the same block with two additions per element instead of ten.
//
// On the way up a tree of sums is built in place, as in a reduction. On the way down each node
// hands to its left child what lies before it, and to its right child that plus the left child's
// sum (Blelloch, "Prefix sums and their applications", 1990). Half as many threads as elements. It
// takes twice the steps, and strides of 2, 4, 8 ... words run into bank conflicts, so that on the
// H200 less work takes more time. What is still wrong: that, and a single block.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/scan/kit/blelloch.cuh"
#include "common/kit/check.cuh"

namespace scan {

__global__ void __launch_bounds__(kScanTile / 2)
    scan_blelloch_kernel(const float* x, float* y, std::int64_t n) {
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

// y[i] = x[0] + ... + x[i] for all i < n; x may be y. Device pointers.
inline void scan_blelloch(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  scan_blelloch_kernel<<<1, kScanTile / 2, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace scan
