// grid_stride: a grid that fits the chip, float4 loads, and no tree until the end.
//
// A thread walks through the array in steps of the grid, adding up in a register, and only then do
// the threads meet. The cost of the tree no longer grows with n: as many blocks as fit on the chip,
// each with one tree (1056 on an H200). One block walks through their sums in the same way, so two
// launches do for any n. What is still wrong: the second launch; and it is only a sum.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/sum/kit/block_sum.cuh"
#include "05_reduction/sum/kit/grid.cuh"
#include "05_reduction/sum/kit/strided_sum.cuh"
#include "common/kit/check.cuh"

namespace reduction {

__global__ void sum_grid_stride_kernel(const float* x, float* sums, std::int64_t n) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kSumBlock + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kSumBlock;
  const float of_block = block_sum<kSumBlock>(strided_sum(x, n, first, stride));
  if (threadIdx.x == 0) sums[blockIdx.x] = of_block;
}

// *result = x[0] + ... + x[n - 1], 0 for n = 0. Device pointers; partials: a value per block.
inline void sum_grid_stride(const float* x, float* result, std::int64_t n, float* partials,
                            cudaStream_t stream) {
  const int blocks = blocks_that_fit(sum_grid_stride_kernel, n);
  sum_grid_stride_kernel<<<blocks, kSumBlock, 0, stream>>>(x, partials, n);
  CUDA_CHECK(cudaGetLastError());
  sum_grid_stride_kernel<<<1, kSumBlock, 0, stream>>>(partials, result, blocks);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace reduction
