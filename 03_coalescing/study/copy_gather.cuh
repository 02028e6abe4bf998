// A copy whose loads lie `stride` floats apart, from `offset` on: what the sweeps of copy measure.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/kit/check.cuh"

namespace coalesced_copy {

// y[i] = x[offset + i * stride] for all i < n: stores stay coalesced, loads are as asked for. A
// thread takes kItems elements, a block apart, and asks for all of them before it stores the first:
// what limits it should be the bytes, not the waiting.
template <int kBlock, int kItems>
__global__ void __launch_bounds__(kBlock)
    copy_gather_kernel(const float* __restrict__ x, float* __restrict__ y, std::int64_t n,
                       int stride, int offset) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kBlock * kItems + threadIdx.x;
  float item[kItems];
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const std::int64_t i = first + k * kBlock;
    if (i < n) item[k] = x[offset + i * stride];
  }
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const std::int64_t i = first + k * kBlock;
    if (i < n) y[i] = item[k];
  }
}

inline void copy_gather(const float* x, float* y, std::int64_t n, int stride, int offset,
                        cudaStream_t stream) {
  constexpr int kBlock = 256, kItems = 4;
  constexpr int kTile = kBlock * kItems;
  const std::int64_t grid = std::max<std::int64_t>(1, (n + kTile - 1) / kTile);
  copy_gather_kernel<kBlock, kItems><<<grid, kBlock, 0, stream>>>(x, y, n, stride, offset);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace coalesced_copy
