// What the lanes of a warp do with a row of B, n x k, and a few rows of A: multiply and add, and
// bring their parts of each sum together.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace matmul::bf16 {

// Adds eight products to `sum`.
__device__ inline void add_products(float& sum, uint4 x, uint4 y) {
  const auto* a = reinterpret_cast<const __nv_bfloat162*>(&x);
  const auto* b = reinterpret_cast<const __nv_bfloat162*>(&y);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 p = __bfloat1622float2(a[i]), q = __bfloat1622float2(b[i]);
    sum += p.x * q.x;
    sum += p.y * q.y;
  }
}

// Adds the lanes' parts of each sum, and stores the sums of row `j` of B: lane i that of row
// `first` + i of A.
template <int kRowsOfA>
__device__ inline void store_sums(float (&sum)[kRowsOfA], __nv_bfloat16* c, int first, int j, int m,
                                  int n) {
  constexpr unsigned kAllLanes = 0xffffffff;
  const int lane = threadIdx.x % 32;
  float mine = 0;
#pragma unroll
  for (int i = 0; i < kRowsOfA; ++i) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      sum[i] += __shfl_xor_sync(kAllLanes, sum[i], distance);
    }
    if (lane == i) mine = sum[i];
  }
  if (lane < kRowsOfA && first + lane < m) {
    c[static_cast<std::int64_t>(first + lane) * n + j] = __float2bfloat16(mine);
  }
}

}  // namespace matmul::bf16
