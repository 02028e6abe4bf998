// async_store: C goes through shared memory, and TMA stores it.
//
// stmatrix brings the rounded accumulators to shared memory, swizzled as TMA expects, and one
// thread issues a store for 64 columns at a time, of which two overlap. The consumers begin the
// next tile while these are in flight. Easily forgotten: every thread that writes needs a proxy
// fence; only the thread that issued a store can wait for it; its memory may be filled again only
// when TMA has read it. What is still wrong: each of the 132 SMs asks the L2 cache for 48 KB a k
// tile, and others ask for the same.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/scheduler.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::bf16 {

template <class T, bool kTransposedB>
__global__ void __launch_bounds__(T::kThreads, 1)
    bf16_gemm_async_store_kernel(const __grid_constant__ CUtensorMap map_a,
                                 const __grid_constant__ CUtensorMap map_b,
                                 const __grid_constant__ CUtensorMap map_c, int k,
                                 TileSchedule tiles) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static_assert(T::kTileM == 128, "two warpgroups multiply, 64 rows each");
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];

  // `full` completes with one arrival and its bytes, `empty` when all consumer warps have arrived.
  if (threadIdx.x == 0) {
    kit::init_stages(full, empty, 8);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  // Warpgroup 0 is the producer: one thread fills a stage as soon as it is empty.
  kit::PipelineState<T::kStages> state;  // goes on from tile to tile
  const int first_tile = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<T::kProducerRegisters>();
    if (threadIdx.x != 0) return;
    for (int i = first_tile; i < tiles.count(); i += blocks) {
      const int2 tile = tiles.at(i);
      for (int p = 0; p < k; p += kTileK, state.next()) {
        unsigned char* const stage = ring + state.stage * T::kStageBytes;
        kit::wait_empty(empty, state);
        ptx::mbarrier_arrive_expect_tx(&full[state.stage], T::kStageBytes);
        ptx::tensor_load(stage, &map_a, p, tile.x * T::kTileM, &full[state.stage]);
        issue_b<kTransposedB, T::kTileN>(stage + T::kBytesA, &map_b, p, tile.y * T::kTileN,
                                         &full[state.stage]);
      }
    }
    return;
  }

  // Warpgroups 1 and 2 are consumers: they multiply a stage as soon as it is full, and release it.
  ptx::setmaxnreg_inc<T::kConsumerRegisters>();
  const int first_row = (warpgroup - 1) * 64;
  unsigned char* const staging = ring + T::kRingBytes + (warpgroup - 1) * kStagingBytes;
  for (int i = first_tile; i < tiles.count(); i += blocks) {
    const int2 tile = tiles.at(i);
    float acc[T::kTileN / 2];
    for (int p = 0; p < k; p += kTileK, state.next()) {
      const unsigned char* const stage = ring + state.stage * T::kStageBytes;
      kit::wait_full(full, state);
      ptx::wgmma_fence();
      issue_k_tile<kTransposedB>(acc, stage + first_row * kRowBytes, stage + T::kBytesA, p == 0);
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<0>();
      kit::release(&empty[state.stage]);
    }

    // region epilogue
    // All products are done: C goes to shared memory, and TMA stores it.
    ptx::fence_registers(acc);
    store_by_tma(acc, staging, &map_c, tile.x * T::kTileM + first_row, tile.y * T::kTileN,
                 warpgroup);
    // endregion
  }

  // Shared memory must last until TMA has read it.
  if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();
#else
  (void)map_a, (void)map_b, (void)map_c, (void)k, (void)tiles;
#endif
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. Throws Skip if TMA cannot take the matrices.
template <bool kTransposedB>
void bf16_gemm_async_store(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                           int n, int k, cudaStream_t stream) {
  using T = GemmTile<128, 256, 4>;
  require_vector_rows<kTransposedB>(a, b, c, n, k);
  const auto kernel = bf16_gemm_async_store_kernel<T, kTransposedB>;
  constexpr int kShared = T::kRingBytes + 2 * kStagingBytes;
  kit::allow_shared(kernel, kShared);
  const TileSchedule tiles = grouped_schedule(m, n, T::kTileM, T::kTileN);
  kernel<<<std::min(tiles.count(), kit::multiprocessor_count()), T::kThreads, kShared, stream>>>(
      map_of_rows(a, m, k, T::kTileM), map_of_b<kTransposedB>(b, n, k, T::kTileN),
      map_of_rows(c, m, n, 64), k, tiles);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::bf16
