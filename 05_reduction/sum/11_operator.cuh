// operator: the + becomes a parameter. Maximum and position of the maximum come for free.
//
// All that the kernel used of + is that it is associative, commutative and has a neutral element.
// So the operator moves into a type (operators.cuh) and the compiler puts the right instruction
// into each copy of the kernel: the sum runs nearly as fast as before. A value may be larger than
// the element it comes from, as that of argmax is, so partial results have their own type, and a
// kernel of their own combines them. What is still wrong: that is a second launch.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/kit/operators.cuh"
#include "05_reduction/sum/kit/grid.cuh"
#include "05_reduction/sum/kit/reduce.cuh"
#include "common/kit/check.cuh"

namespace reduction {

template <class Op>
__global__ void sum_operator_kernel(const float* x, typename Op::Value* partials, std::int64_t n) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kSumBlock + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kSumBlock;
  const auto value = block_reduce<Op, kSumBlock>(strided_reduce<Op>(x, n, first, stride));
  if (threadIdx.x == 0) partials[blockIdx.x] = value;
}

// One block: *result = partials[0] combined with ... partials[count - 1].
template <class Op>
__global__ void sum_operator_finish_kernel(const typename Op::Value* partials, int count,
                                           typename Op::Value* result) {
  typename Op::Value value = Op::identity();
  for (int i = threadIdx.x; i < count; i += kSumBlock) value = Op::combine(value, partials[i]);
  value = block_reduce<Op, kSumBlock>(value);
  if (threadIdx.x == 0) *result = value;
}

// *result = x[0] combined with ... x[n - 1], the identity for n = 0. Device pointers; partials: a
// value per block.
template <class Op>
void sum_operator(const float* x, typename Op::Value* result, std::int64_t n,
                  typename Op::Value* partials, cudaStream_t stream) {
  const int blocks = blocks_that_fit(sum_operator_kernel<Op>, n);
  sum_operator_kernel<Op><<<blocks, kSumBlock, 0, stream>>>(x, partials, n);
  CUDA_CHECK(cudaGetLastError());
  sum_operator_finish_kernel<Op><<<1, kSumBlock, 0, stream>>>(partials, blocks, result);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace reduction
