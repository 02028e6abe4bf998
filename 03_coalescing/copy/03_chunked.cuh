// chunked: the CPU's picture on a GPU. Each thread copies 8 neighbouring floats.
//
// In the index the step k runs fastest, the thread slower. But the 32 threads of a warp take each
// step together: in step k they ask for addresses 32 bytes apart, and memory is fetched in sectors
// of 32 bytes. One request touches 32 sectors to use 4 bytes of each. The caches keep the rest for
// the next steps, if they can. What is wrong: the two indices have each other's role.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/kit/check.cuh"

namespace coalesced_copy {

template <int kBlock, int kItems>
__global__ void copy_chunked_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * kBlock * kItems;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const std::int64_t i = tile + threadIdx.x * kItems + k;
    if (i < n) y[i] = x[i];
  }
}

// y[i] = x[i] for all i < n. Device pointers.
inline void copy_chunked(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  constexpr int kBlock = 256;
  constexpr int kItems = 8;
  constexpr int kTile = kBlock * kItems;
  const std::int64_t grid = std::max<std::int64_t>(1, (n + kTile - 1) / kTile);
  copy_chunked_kernel<kBlock, kItems><<<grid, kBlock, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace coalesced_copy
