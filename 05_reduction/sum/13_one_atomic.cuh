// one_atomic: each block adds its sum to the result with one atomicAdd.
//
// No partial sums, no last block, half the code. The result must be 0 before the first block adds,
// so the launch is preceded by a memset in the same stream. A kernel cannot do that itself: its
// block 0 may run after the others. Two prices: the memset is a second piece of work, and blocks
// add in the order in which they finish, so the last bits of a float sum change from run to run.
// And there is no atomic for every operator. What is still wrong: just that.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/sum/kit/block_sum.cuh"
#include "05_reduction/sum/kit/grid.cuh"
#include "05_reduction/sum/kit/strided_sum.cuh"
#include "common/kit/check.cuh"

namespace reduction {

__global__ void sum_one_atomic_kernel(const float* x, float* result, std::int64_t n) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kSumBlock + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kSumBlock;
  const float of_block = block_sum<kSumBlock>(strided_sum(x, n, first, stride));
  if (threadIdx.x == 0) atomicAdd(result, of_block);
}

// *result = x[0] + ... + x[n - 1], 0 for n = 0. Device pointers.
inline void sum_one_atomic(const float* x, float* result, std::int64_t n, cudaStream_t stream) {
  CUDA_CHECK(cudaMemsetAsync(result, 0, sizeof(float), stream));  // all bytes 0: 0.0f
  const int blocks = blocks_that_fit(sum_one_atomic_kernel, n);
  sum_one_atomic_kernel<<<blocks, kSumBlock, 0, stream>>>(x, result, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace reduction
