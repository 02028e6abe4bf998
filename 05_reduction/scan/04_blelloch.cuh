// Rung 4, blelloch: the same block with two additions an element instead of ten.
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
#include "05_reduction/scan/kit/tile.cuh"
#include "common/kit/check.cuh"

namespace scan {

// y[i] = x[0] + ... + x[i] for all i < n; x may be y. Device pointers.
inline void scan_blelloch(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  scan_blelloch_kernel<<<1, kScanTile / 2, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace scan
