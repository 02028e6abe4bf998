// single_pass: one launch; the block that happens to finish last combines the partials.
//
// Every block writes its value and then draws a number from a counter. Who draws the last number
// knows that all others have written. __threadfence before drawing makes the value visible before
// the number is taken; the one after it lets the last block see the values of the others. No block
// waits for another, so the order in which blocks run does not matter. atomicInc wraps around at
// the last number, which leaves the counter at 0 for the next launch. What is still wrong: the
// fence keeps a block on the chip until its value has arrived, though it has nothing else to do.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/kit/operators.cuh"
#include "05_reduction/sum/kit/grid.cuh"
#include "05_reduction/sum/kit/reduce.cuh"
#include "common/kit/check.cuh"

namespace reduction {

// Combines one value per block of the grid into *result. All threads of all blocks must call it;
// `value` counts in thread 0. partials: room for a value per block; counter: 0 before and after.
template <class Op, int kBlock>
__device__ void finish_in_last_block(typename Op::Value value, typename Op::Value* partials,
                                     unsigned* counter, typename Op::Value* result) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = value;
    __threadfence();
    is_last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();

  // Always in the same order, whichever block does it: a float sum has the same bits in every run.
  value = Op::identity();
  for (unsigned i = threadIdx.x; i < gridDim.x; i += kBlock) {
    value = Op::combine(value, partials[i]);
  }
  value = block_reduce<Op, kBlock>(value);
  if (threadIdx.x == 0) *result = value;
}

template <class Op>
__global__ void sum_single_pass_kernel(const float* x, typename Op::Value* result, std::int64_t n,
                                       typename Op::Value* partials, unsigned* counter) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kSumBlock + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kSumBlock;
  const auto value = block_reduce<Op, kSumBlock>(strided_reduce<Op>(x, n, first, stride));
  finish_in_last_block<Op, kSumBlock>(value, partials, counter, result);
}

// *result = x[0] combined with ... x[n - 1], the identity for n = 0. Device pointers; partials: a
// value per block; counter: 0 before and after.
template <class Op>
void sum_single_pass(const float* x, typename Op::Value* result, std::int64_t n,
                     typename Op::Value* partials, unsigned* counter, cudaStream_t stream) {
  const int blocks = blocks_that_fit(sum_single_pass_kernel<Op>, n);
  sum_single_pass_kernel<Op><<<blocks, kSumBlock, 0, stream>>>(x, result, n, partials, counter);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace reduction
