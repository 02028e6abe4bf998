// Rung 8, ring: one warpgroup only loads, two only multiply, and a ring of buffers lies between.
//
// The thread that orders copies runs ahead of those who multiply, by up to four steps, and never
// meets them at a __syncthreads. Each stage of the ring has two barriers: `full` completes when the
// copy engine has delivered, `empty` when all eight warps that multiply are done. Of both only the
// parity of the phase can be asked for, which flips with every round of the ring. What is still
// wrong: small tiles bring more bytes for the same work, and wgmma reads A again for 128 columns.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/bf16/06_multistage.cuh"
#include "04_matmul/bf16/hopper.cuh"
#include "04_matmul/sgemm/tiles.cuh"
#include "common/cuda_check.cuh"

template <class T, bool kTransposedB>
__global__ void __launch_bounds__(384, 1)
    bf16_gemm_ring_kernel(const __grid_constant__ CUtensorMap map_a,
                          const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* c, int m, int n,
                          int k) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static_assert(T::kRows == 128, "two warpgroups multiply, 64 rows each");
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  const TileOrigin tile = tile_of_block<T::kRows, T::kCols>(n);
  if (threadIdx.x == 0) {
    for (int s = 0; s < T::kStages; ++s) {
      ptx::mbarrier_init(&full[s], 1);
      ptx::mbarrier_init(&empty[s], 8);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  RingPlace<T::kStages> place;
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    if (threadIdx.x != 0) return;
    for (int p = 0; p < k; p += kStep, place.next()) {
      unsigned char* const stage = ring + place.stage * T::kStageBytes;
      // The phase before the first counts as complete: a fresh ring is empty.
      wait(&empty[place.stage], place.phase ^ 1);
      ptx::mbarrier_arrive_expect_tx(&full[place.stage], T::kStageBytes);
      ptx::tensor_load(stage, &map_a, p, tile.row, &full[place.stage]);
      order_b<kTransposedB, T::kCols>(stage + T::kBytesA, &map_b, p, tile.col, &full[place.stage]);
    }
    return;
  }

  const int first_row = (warpgroup - 1) * 64;
  float sum[T::kCols / 2];
  for (int p = 0; p < k; p += kStep, place.next()) {
    const unsigned char* const stage = ring + place.stage * T::kStageBytes;
    wait(&full[place.stage], place.phase);
    ptx::wgmma_fence();
    multiply_step<kTransposedB>(sum, stage + first_row * kRowBytes, stage + T::kBytesA, p == 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&empty[place.stage]);
  }
  ptx::fence_registers(sum);
  store_pairs(sum, c, tile.row + first_row, tile.col, m, n);
#else
  (void)map_a, (void)map_b, (void)c, (void)m, (void)n, (void)k;
#endif
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9.
template <bool kTransposedB>
void bf16_gemm_ring(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n,
                    int k, cudaStream_t stream) {
  using T = HopperTile<128, 128, 4>;
  if (!fits_copy_engine(a, k, b, kTransposedB ? k : n, c, n)) {
    return bf16_gemm_multistage<kTransposedB>(a, b, c, m, n, k, stream);
  }
  const auto kernel = bf16_gemm_ring_kernel<T, kTransposedB>;
  allow_shared(kernel, T::kRingBytes);
  kernel<<<tiles_of<T::kRows, T::kCols>(m, n), 384, T::kRingBytes, stream>>>(
      map_of_a(a, m, k, T::kRows), map_of_b<kTransposedB>(b, n, k, T::kCols), c, m, n, k);
  CUDA_CHECK(cudaGetLastError());
}
