// restrict: two words tell the compiler that x and y do not overlap.
//
// __restrict__ is a promise of the caller: what is written through y is read through no other
// pointer. Now a load of x may pass a store to y. nvcc makes the load ld.global.nc ("nobody writes
// here"), and in the machine code seven loads stand before the first store: 28 bytes in flight per
// thread instead of 4. The requests and their sectors are the same ones. What is left: eight loads
// and eight stores where fewer, wider ones would do. Nobody checks the promise: if x and y overlap
// after all, the result is wrong.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/kit/check.cuh"

namespace coalesced_copy {

template <int kBlock, int kItems>
__global__ void copy_restrict_kernel(const float* __restrict__ x, float* __restrict__ y,
                                     std::int64_t n) {
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * kBlock * kItems;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const std::int64_t i = tile + k * kBlock + threadIdx.x;
    if (i < n) y[i] = x[i];
  }
}

// y[i] = x[i] for all i < n. Device pointers to arrays that do not overlap.
inline void copy_restrict(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  constexpr int kBlock = 256;
  constexpr int kItems = 8;
  constexpr int kTile = kBlock * kItems;
  const std::int64_t grid = std::max<std::int64_t>(1, (n + kTile - 1) / kTile);
  copy_restrict_kernel<kBlock, kItems><<<grid, kBlock, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace coalesced_copy
