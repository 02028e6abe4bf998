// single_block: the same idea on a GPU, with the threads of one block.
//
// Each thread keeps a running sum over every 256th element, so that a warp reads neighbours. Then
// the threads must meet: they write their sums to shared memory, wait for each other, and thread 0
// adds them up. Blocks cannot wait for each other in the middle of a kernel, so this way ends with
// one block. What is still wrong: that block keeps one SM busy, and all others are idle.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/sum/kit/grid.cuh"
#include "common/kit/check.cuh"

namespace reduction {

__global__ void sum_single_block_kernel(const float* x, float* result, std::int64_t n) {
  __shared__ float sums[kSumBlock];
  float sum = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += kSumBlock) sum += x[i];
  sums[threadIdx.x] = sum;
  __syncthreads();

  if (threadIdx.x == 0) {
    float total = 0;
    for (int t = 0; t < kSumBlock; ++t) total += sums[t];
    *result = total;
  }
}

// *result = x[0] + ... + x[n - 1], 0 for n = 0. Device pointers.
inline void sum_single_block(const float* x, float* result, std::int64_t n, cudaStream_t stream) {
  sum_single_block_kernel<<<1, kSumBlock, 0, stream>>>(x, result, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace reduction
