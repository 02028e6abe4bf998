// Rung 11, operator: the + becomes a parameter. Maximum and position of the maximum come for free.
//
// All that the kernel used of + is that it is associative, commutative and has a neutral element.
// So the operator moves into a type (operators.cuh) and the compiler puts the right instruction
// into each copy of the kernel: the sum runs as fast as before. A value may be larger than the
// element it comes from, as that of argmax is, so partial results have their own type, and a kernel
// of their own combines them. What is still wrong: that is a second launch.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/operators.cuh"
#include "05_reduction/sum/10_grid_stride.cuh"
#include "common/cuda_check.cuh"

__device__ inline float shuffle_xor(float value, int lanes) {
  return __shfl_xor_sync(kAllLanes, value, lanes);
}
__device__ inline Indexed shuffle_xor(Indexed a, int lanes) {
  return {shuffle_xor(a.value, lanes),
          __shfl_xor_sync(kAllLanes, static_cast<long long>(a.index), lanes)};
}

template <class Op>
__device__ typename Op::Value warp_reduce(typename Op::Value value) {
  for (int s = 16; s > 0; s /= 2) value = Op::combine(value, shuffle_xor(value, s));
  return value;
}

// All values of a block of kBlock threads combined, in every thread. All must call it, and must
// meet at a barrier before they call it again: some may still be reading of_warps.
template <class Op, int kBlock>
__device__ typename Op::Value block_reduce(typename Op::Value own) {
  constexpr int kWarps = kBlock / 32;
  static_assert(kWarps <= 32, "one warp combines the values of all warps");
  __shared__ typename Op::Value of_warps[kWarps];
  const int lane = threadIdx.x % 32;

  own = warp_reduce<Op>(own);
  if (lane == 0) of_warps[threadIdx.x / 32] = own;
  __syncthreads();
  return warp_reduce<Op>(lane < kWarps ? of_warps[lane] : Op::identity());
}

template <class Op>
__device__ typename Op::Value combine4(typename Op::Value value, float4 v, std::int64_t i) {
  const auto low = Op::combine(Op::lift(v.x, i), Op::lift(v.y, i + 1));
  const auto high = Op::combine(Op::lift(v.z, i + 2), Op::lift(v.w, i + 3));
  return Op::combine(value, Op::combine(low, high));
}

// What thread `first` of `stride` threads combines.
template <class Op>
__device__ typename Op::Value strided_reduce(const float* x, std::int64_t n, std::int64_t first,
                                             std::int64_t stride) {
  const std::int64_t head = unaligned_head(x, n);
  const std::int64_t vectors = (n - head) / 4;
  const std::int64_t tail = head + 4 * vectors;
  const float4* x4 = reinterpret_cast<const float4*>(x + head);
  typename Op::Value value = Op::identity();
  for (std::int64_t i = first; i < vectors; i += stride) {
    value = combine4<Op>(value, x4[i], head + 4 * i);
  }
  if (first < head) value = Op::combine(value, Op::lift(x[first], first));
  if (tail + first < n) value = Op::combine(value, Op::lift(x[tail + first], tail + first));
  return value;
}

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
