// divergent_tree: many blocks; in each, a tree of additions instead of one thread's loop.
//
// A block sums 256 elements in 8 steps: neighbours, then pairs of pairs, and so on. It writes one
// partial sum, so the same kernel runs again over the partial sums, until one is left: the end of a
// kernel is where blocks meet. Now all SMs read. What is still wrong: in step s only every 2s-th
// thread adds, so each warp goes through every step for fewer and fewer of its 32 lanes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/sum/kit/grid.cuh"
#include "05_reduction/sum/kit/passes.cuh"

namespace reduction {

__global__ void sum_divergent_tree_kernel(const float* x, float* sums, std::int64_t n) {
  __shared__ float tile[kSumBlock];
  const int t = threadIdx.x;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kSumBlock + t;
  tile[t] = i < n ? x[i] : 0;
  __syncthreads();

  for (int s = 1; s < kSumBlock; s *= 2) {
    if (t % (2 * s) == 0) tile[t] += tile[t + s];
    __syncthreads();  // outside the `if`: every thread of the block must come here
  }
  if (t == 0) sums[blockIdx.x] = tile[0];
}

// *result = x[0] + ... + x[n - 1], 0 for n = 0. Device pointers; partials as for sum_in_passes.
inline void sum_divergent_tree(const float* x, float* result, std::int64_t n, float* partials,
                               cudaStream_t stream) {
  sum_in_passes(sum_divergent_tree_kernel, kSumBlock, x, result, n, partials, stream);
}

}  // namespace reduction
