// Rung 10, grid_stride: a grid that fits the chip, float4 loads, and no tree until the end.
//
// A thread walks through the array in steps of the grid, adding up in a register, and only then do
// the threads meet. The cost of the tree no longer grows with n: as many blocks as fit on the chip,
// each with one tree (1056 on an H200). One block walks through their sums in the same way, so two
// launches do for any n. What is still wrong: the second launch; and it is only a sum.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "05_reduction/sum/09_shuffle_xor.cuh"
#include "common/cuda_check.cuh"
#include "common/launch.cuh"

// Elements of x before the first that is aligned to 16 bytes, of n in all.
__device__ inline std::int64_t unaligned_head(const float* x, std::int64_t n) {
  const std::int64_t head = (16 - reinterpret_cast<std::uintptr_t>(x) % 16) % 16 / sizeof(float);
  return head < n ? head : n;
}

// What thread `first` of `stride` threads adds up: every stride-th float4, and at most one of the
// elements before and after them.
__device__ inline float strided_sum(const float* x, std::int64_t n, std::int64_t first,
                                    std::int64_t stride) {
  const std::int64_t head = unaligned_head(x, n);
  const std::int64_t vectors = (n - head) / 4;
  const std::int64_t tail = head + 4 * vectors;
  const float4* x4 = reinterpret_cast<const float4*>(x + head);
  float sum = 0;
  for (std::int64_t i = first; i < vectors; i += stride) {
    const float4 v = x4[i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  if (first < head) sum += x[first];
  if (tail + first < n) sum += x[tail + first];
  return sum;
}

__global__ void sum_grid_stride_kernel(const float* x, float* sums, std::int64_t n) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kSumBlock + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kSumBlock;
  const float of_block = block_sum<kSumBlock>(strided_sum(x, n, first, stride));
  if (threadIdx.x == 0) sums[blockIdx.x] = of_block;
}

// Blocks of kSumBlock threads for n elements, four a thread: no more than fit on the device at
// once.
template <class Kernel>
int blocks_that_fit(Kernel kernel, std::int64_t n) {
  const std::int64_t most = common::resident_blocks(kernel, kSumBlock);
  const std::int64_t needed = (n + 4 * kSumBlock - 1) / (4 * kSumBlock);
  return static_cast<int>(std::max<std::int64_t>(1, std::min(most, needed)));
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
