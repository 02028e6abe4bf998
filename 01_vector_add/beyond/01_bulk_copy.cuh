// bulk_copy: one thread issues the copy of a whole tile, and the TMA brings it (sm_90).
//
// No load instruction per warp, no registers waiting for an answer: cp.async.bulk moves the tiles
// of x and y into shared memory and reports to a barrier there; the threads wake when all bytes
// have come. The bytes in flight no longer depend on how many threads run, so they can be chosen:
// 48 KB per SM, by admitting 12 blocks of 4 KB. More is slower: the requests only queue. This is
// also what the library does. Chapter 04 explains the parts: mbarriers and the TMA.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "01_vector_add/kit/add.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/tma.cuh"

namespace vector_add {

template <int kBlock>
__global__ void __launch_bounds__(kBlock)
    vector_add_bulk_copy_kernel(const float* x, float* y, std::int64_t n) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  constexpr int kTile = 4 * kBlock;  // floats: one float4 per thread
  __shared__ alignas(128) float4 tile_x[kBlock];
  __shared__ alignas(128) float4 tile_y[kBlock];
  __shared__ alignas(8) std::uint64_t arrived;
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * kTile;

  if (tile + kTile <= n) {
    if (threadIdx.x == 0) {
      ptx::mbarrier_init(&arrived, 1);
      ptx::fence_mbarrier_init();
      ptx::mbarrier_arrive_expect_tx(&arrived, sizeof tile_x + sizeof tile_y);
      ptx::cp_async_bulk(tile_x, x + tile, sizeof tile_x, &arrived);
      ptx::cp_async_bulk(tile_y, y + tile, sizeof tile_y, &arrived);
    }
    __syncthreads();  // nobody may look at the barrier before it is initialised
    while (!ptx::mbarrier_try_wait_parity(&arrived, 0)) {
    }
    reinterpret_cast<float4*>(y + tile)[threadIdx.x] =
        add(tile_x[threadIdx.x], tile_y[threadIdx.x]);
  } else {
    for (std::int64_t i = tile + threadIdx.x; i < n; i += kBlock) y[i] = x[i] + y[i];
  }
#endif
}

// Dynamic shared memory that a block must ask for so that exactly `blocks` fit on an SM. Each block
// costs the system 1 KB besides (CUDA C++ Programming Guide, "Shared memory", sm_80 and newer).
inline int shared_bytes_for(int blocks, int static_bytes) {
  int device = 0, per_multiprocessor = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&per_multiprocessor,
                                    cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
  return (per_multiprocessor / blocks - 1024 - static_bytes) / 128 * 128;
}

constexpr int kBulkBlock = 128;  // threads

// What a block asks for, so that 12 are on an SM at once.
inline int bulk_copy_padding() {
  constexpr int kBlocksPerMultiprocessor = 12;
  constexpr int kTileBytes = kBulkBlock * sizeof(float4);
  constexpr int kStaticBytes = 2 * kTileBytes + 128;  // tiles, and room for the barrier
  static const int kPadding = shared_bytes_for(kBlocksPerMultiprocessor, kStaticBytes);
  return kPadding;
}

// y[i] = x[i] + y[i] for all i < n. Device pointers, both aligned to 16 bytes.
inline void vector_add_bulk_copy(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  kit::require_aligned_to_16(x, y);
  constexpr int kTile = 4 * kBulkBlock;
  const std::int64_t grid = std::max<std::int64_t>(1, (n + kTile - 1) / kTile);
  vector_add_bulk_copy_kernel<kBulkBlock>
      <<<grid, kBulkBlock, bulk_copy_padding(), stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace vector_add
