// What kit/block_sum.cuh and kit/strided_sum.cuh do for a sum, for any operator of operators.cuh.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/kit/all_lanes.cuh"
#include "05_reduction/kit/operators.cuh"
#include "05_reduction/sum/kit/strided_sum.cuh"

namespace reduction {

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
__device__ __forceinline__ typename Op::Value combine4(typename Op::Value value, float4 v,
                                                       std::int64_t i) {
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

}  // namespace reduction
