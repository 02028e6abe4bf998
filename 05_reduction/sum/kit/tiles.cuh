// A thread's part of a sum, when each block takes tiles that follow each other.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/kit/operators.cuh"
#include "05_reduction/sum/kit/reduce.cuh"

namespace reduction {

constexpr int kTunedBlock = 512;  // threads

// A thread's part of the `tiles` tiles of this block, kLoads float4 per thread and tile. x must be
// aligned to 16 bytes.
template <class Op, int kLoads>
__device__ __forceinline__ typename Op::Value combine_tiles(const float* x, std::int64_t n,
                                                            int tiles) {
  constexpr int kTile = 4 * kTunedBlock * kLoads;
  const float4* x4 = reinterpret_cast<const float4*>(x);
  typename Op::Value value = Op::identity();
  for (int k = 0; k < tiles; ++k) {
    const std::int64_t tile = (static_cast<std::int64_t>(blockIdx.x) * tiles + k) * kTile;
    const std::int64_t first = tile / 4 + threadIdx.x;  // float4
    if (tile + kTile <= n) {
      float4 v[kLoads];  // in registers: after unrolling every index is a constant
#pragma unroll
      for (int p = 0; p < kLoads; ++p) v[p] = x4[first + p * kTunedBlock];
#pragma unroll
      for (int p = 0; p < kLoads; ++p) {
        value = combine4<Op>(value, v[p], 4 * (first + p * kTunedBlock));
      }
    } else {
      for (std::int64_t i = tile + threadIdx.x; i < n; i += kTunedBlock) {
        value = Op::combine(value, Op::lift(x[i], i));
      }
      break;  // there is no tile behind the last one
    }
  }
  return value;
}

}  // namespace reduction
