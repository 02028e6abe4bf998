// shuffle_xor: a butterfly instead of a tree, so that every lane has the total.
//
// Lane l adds what lane l ^ s holds: both of a pair compute the same sum, and after five steps all
// 32 lanes have it. A warp's instructions are as many as before, the idle lanes of the tree just
// work too. Every warp can thus sum the warps' sums by itself (all eight do what warp 0 did alone):
// all threads of the block know the result after one barrier, which a softmax or a norm needs. What
// is still wrong: each thread loads twice 4 bytes and is gone.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/sum/kit/block_sum.cuh"
#include "05_reduction/sum/kit/grid.cuh"
#include "05_reduction/sum/kit/passes.cuh"

namespace reduction {

__global__ void sum_shuffle_xor_kernel(const float* x, float* sums, std::int64_t n) {
  const int t = threadIdx.x;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 2 * kSumBlock + t;
  const float own = (i < n ? x[i] : 0) + (i + kSumBlock < n ? x[i + kSumBlock] : 0);
  const float of_block = block_sum<kSumBlock>(own);
  if (t == 0) sums[blockIdx.x] = of_block;
}

// *result = x[0] + ... + x[n - 1], 0 for n = 0. Device pointers; partials as for sum_in_passes.
inline void sum_shuffle_xor(const float* x, float* result, std::int64_t n, float* partials,
                            cudaStream_t stream) {
  sum_in_passes(sum_shuffle_xor_kernel, 2 * kSumBlock, x, result, n, partials, stream);
}

}  // namespace reduction
