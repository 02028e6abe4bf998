// tma: one thread has tiles brought, and barriers in shared memory tell when they are
// there.
//
// TMA is Hopper's Tensor Memory Accelerator. It is told of a matrix once, by a tensor map that the
// host makes; then one thread issues a whole box of it with one instruction. TMA computes the
// addresses, swizzles, writes zeros for what lies outside, and counts the bytes at an mbarrier,
// whose phase the other threads wait for. No thread spends registers or instructions on copies.
// What is still wrong: mma.sync is as slow as before, and all warps meet once for each k tile.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/grouped_tiles.cuh"
#include "04_matmul/kit/mma_gemm_tile.cuh"
#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/tma.cuh"

namespace matmul::bf16 {

template <class T>
__global__ void __launch_bounds__(T::kThreads, 1)
    bf16_gemm_tma_kernel(const __grid_constant__ CUtensorMap map_a,
                         const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* c, int m, int n,
                         int k) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ __align__(1024) uint4 boxes[];
  auto* const ring = reinterpret_cast<__nv_bfloat16*>(boxes);
  __shared__ std::uint64_t full[T::kStages];

  // This block's tile of C, and this warp's part of it.
  const TileOrigin tile = grouped_tile<T::kTileM, T::kTileN>(m, n);
  const int warp = threadIdx.x / 32;
  const int y = warp / T::kWarpsAcross * T::kWarpM, x = warp % T::kWarpsAcross * T::kWarpN;

  // region issue
  // One arrival completes a phase: that of the thread that issues, once its bytes have come.
  if (threadIdx.x == 0) {
    for (int s = 0; s < T::kStages; ++s) ptx::mbarrier_init(&full[s], 1);
    ptx::fence_mbarrier_init();  // with the barrier below: everybody sees them, TMA too
  }
  __syncthreads();

  // Tile i of k goes to stage i % kStages. By one thread: it promises the bytes, then has them
  // sent.
  const auto stage_of = [&](int i) { return ring + i % T::kStages * T::kStage; };
  const auto issue = [&](int i) {
    __nv_bfloat16 *const tile_a = stage_of(i), *const tile_b = tile_a + T::kTileA;
    std::uint64_t* const barrier = &full[i % T::kStages];
    ptx::mbarrier_arrive_expect_tx(barrier, T::kStage * 2);
    ptx::tensor_load(tile_a, &map_a, i * T::kTileK, tile.row, barrier);
    issue_b<T::kTransposedB, T::kTileN>(tile_b, &map_b, i * T::kTileK, tile.col, barrier);
  };
  const auto wait_full = [&](int i) {
    const std::uint32_t parity = i / T::kStages % 2;  // of the trip around the ring
    while (!ptx::mbarrier_try_wait_parity(&full[i % T::kStages], parity)) {
    }
  };
  const int k_tiles = kit::divide_up(k, T::kTileK);
  if (threadIdx.x == 0) {
    for (int i = 0; i < min(T::kStages, k_tiles); ++i) issue(i);
  }
  // endregion

  // As in the rung before: while 16 values of k are multiplied, the fragments of the next 16 are on
  // their way.
  constexpr int kSteps = T::kTileK / 16;
  float acc[T::kPartsA][2 * T::kPartsB][4] = {};
  Fragments<T> fragments[2];
  const __nv_bfloat16* stage = ring;  // the one in use
  wait_full(0);
  fragments[0].load(stage, 0, y, x);
  for (int i = 0; i < k_tiles; ++i) {
#pragma unroll
    for (int q = 0; q < kSteps; ++q) {
      if (q == kSteps - 1) {
        // region hand_over
        ptx::fence_proxy_async();  // TMA, another proxy, writes to this stage next
        __syncthreads();           // all warps have read it: it may be filled again
        if (threadIdx.x == 0 && i + T::kStages < k_tiles) issue(i + T::kStages);
        if (i + 1 < k_tiles) wait_full(i + 1);
        stage = stage_of(i + 1);
        // endregion
      }
      fragments[(q + 1) % 2].load(stage, (q + 1) % kSteps, y, x);
#pragma unroll
      for (int r = 0; r < T::kPartsA; ++r) {
#pragma unroll
        for (int s = 0; s < 2 * T::kPartsB; ++s) {
          const std::uint32_t* two = &fragments[q % 2].b[s / 2][s % 2 * 2];
          ptx::mma_m16n8k16(acc[r][s], fragments[q % 2].a[r], two[0], two[1]);
        }
      }
    }
  }

  // C leaves by way of the ring.
  __syncthreads();  // the ring is free
  store_part<T, true>(acc, ring, c, tile.row + y, tile.col + x, m, n);
#else
  (void)map_a, (void)map_b, (void)c, (void)m, (void)n, (void)k;
#endif
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. Throws Skip if TMA cannot take the matrices.
template <bool kTransposedB>
void bf16_gemm_tma(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n,
                   int k, cudaStream_t stream) {
  using T = MmaGemmTile<kTransposedB, 128, 256, 64, 64, kTileK, 4, true>;
  require_vector_rows<kTransposedB>(a, b, c, n, k);
  const auto kernel = bf16_gemm_tma_kernel<T>;
  kit::allow_shared(kernel, T::kSharedBytes);
  kernel<<<tile_count<T::kTileM, T::kTileN>(m, n), T::kThreads, T::kSharedBytes, stream>>>(
      map_of_rows(a, m, k, T::kTileM), map_of_b<kTransposedB>(b, n, k, T::kTileN), c, m, n, k);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::bf16
