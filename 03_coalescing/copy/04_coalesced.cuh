// coalesced: the two indices change places. Neighbouring threads take neighbouring floats.
//
// Now the thread runs fastest in the index, the step k slower. In one step a warp asks for 32
// floats that lie side by side: 128 bytes, 4 sectors, every byte of them used. The hardware merges
// the 32 addresses into that one transfer, which is what "coalesced" means. Nothing else has
// changed: each thread still copies 8 floats. What is left: y might overlap x, so no load may pass
// the store before it, and a thread has one load of 4 bytes in flight.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/kit/check.cuh"

namespace coalesced_copy {

template <int kBlock, int kItems>
__global__ void copy_coalesced_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * kBlock * kItems;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const std::int64_t i = tile + k * kBlock + threadIdx.x;
    if (i < n) y[i] = x[i];
  }
}

// y[i] = x[i] for all i < n. Device pointers.
inline void copy_coalesced(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  constexpr int kBlock = 256;
  constexpr int kItems = 8;
  constexpr int kTile = kBlock * kItems;
  const std::int64_t grid = std::max<std::int64_t>(1, (n + kTile - 1) / kTile);
  copy_coalesced_kernel<kBlock, kItems><<<grid, kBlock, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace coalesced_copy
