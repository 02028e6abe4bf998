// conflicting_tree: the threads that add are neighbours.
//
// The additions are the same ones, but thread t does the t-th of them: in step s the first 128 / s
// threads work and whole warps drop out, instead of every warp limping on with a few lanes. What is
// still wrong: lane t reads word 2 s t, so the lanes of a warp meet in few of the 32 banks of
// shared memory and are served one after the other: 2-way in the first step, up to 8-way further
// on.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/sum/kit/grid.cuh"
#include "05_reduction/sum/kit/passes.cuh"

namespace reduction {

__global__ void sum_conflicting_tree_kernel(const float* x, float* sums, std::int64_t n) {
  __shared__ float tile[kSumBlock];
  const int t = threadIdx.x;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kSumBlock + t;
  tile[t] = i < n ? x[i] : 0;
  __syncthreads();

  // region tree
  for (int s = 1; s < kSumBlock; s *= 2) {
    const int first = 2 * s * t;
    if (first < kSumBlock) tile[first] += tile[first + s];
    __syncthreads();
  }
  // endregion
  if (t == 0) sums[blockIdx.x] = tile[0];
}

// *result = x[0] + ... + x[n - 1], 0 for n = 0. Device pointers; partials as for sum_in_passes.
inline void sum_conflicting_tree(const float* x, float* result, std::int64_t n, float* partials,
                                 cudaStream_t stream) {
  sum_in_passes(sum_conflicting_tree_kernel, kSumBlock, x, result, n, partials, stream);
}

}  // namespace reduction
