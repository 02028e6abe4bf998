// first_add: every thread adds two elements while it loads.
//
// Half as many blocks for the same n, each with the same tree: per element half the barriers and
// half the partial sums, and two loads in flight per thread instead of one. What is still wrong:
// in the last six steps of the tree a single warp is left, yet the whole block stops at a barrier
// for each of them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/sum/kit/grid.cuh"
#include "05_reduction/sum/kit/passes.cuh"

namespace reduction {

__global__ void sum_first_add_kernel(const float* x, float* sums, std::int64_t n) {
  __shared__ float tile[kSumBlock];
  const int t = threadIdx.x;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 2 * kSumBlock + t;
  tile[t] = (i < n ? x[i] : 0) + (i + kSumBlock < n ? x[i + kSumBlock] : 0);
  __syncthreads();

  for (int s = kSumBlock / 2; s > 0; s /= 2) {
    if (t < s) tile[t] += tile[t + s];
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = tile[0];
}

// *result = x[0] + ... + x[n - 1], 0 for n = 0. Device pointers; partials as for sum_in_passes.
inline void sum_first_add(const float* x, float* result, std::int64_t n, float* partials,
                          cudaStream_t stream) {
  sum_in_passes(sum_first_add_kernel, 2 * kSumBlock, x, result, n, partials, stream);
}

}  // namespace reduction
