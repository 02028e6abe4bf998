// Rung 7, wgmma: four warps multiply straight from shared memory, and one thread loads.
//
// mma.sync is an instruction of a warp, takes its operands from registers, and stops short of two
// thirds of Hopper's tensor cores. wgmma is an instruction of a warpgroup, four warps: it reads A
// and B from shared memory itself, up to 64 x 256 x 16 at once, and runs in the background. Nor
// does any thread copy: one of them orders a whole tile from the copy engine (TMA), which knows the
// matrix's shape, writes zeros for what lies outside, and reports to a barrier in shared memory
// (mbarrier). What is still wrong: there is one buffer. Loading and multiplying take turns.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/bf16/06_multistage.cuh"
#include "04_matmul/bf16/hopper.cuh"
#include "04_matmul/sgemm/tiles.cuh"
#include "common/cuda_check.cuh"

template <class T, bool kTransposedB>
__global__ void __launch_bounds__(128)
    bf16_gemm_wgmma_kernel(const __grid_constant__ CUtensorMap map_a,
                           const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* c, int m,
                           int n, int k) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static_assert(T::kRows == 128, "the warpgroup multiplies twice 64 rows");
  extern __shared__ __align__(1024) unsigned char ring[];
  unsigned char *const tile_a = ring, *const tile_b = ring + T::kBytesA;
  __shared__ std::uint64_t full;
  const TileOrigin tile = tile_of_block<T::kRows, T::kCols>(n);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);  // one thread arrives; the copies' bytes count beside it
    ptx::fence_mbarrier_init();    // or the copy engine might not see the barrier
  }
  __syncthreads();

  float sum[2][T::kCols / 2];
  std::uint32_t parity = 0;
  for (int p = 0; p < k; p += kStep, parity ^= 1) {
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(&full, T::kStageBytes);
      ptx::tensor_load(tile_a, &map_a, p, tile.row, &full);
      order_b<kTransposedB, T::kCols>(tile_b, &map_b, p, tile.col, &full);
    }
    wait(&full, parity);
    ptx::wgmma_fence();
    multiply_step<kTransposedB>(sum[0], tile_a, tile_b, p == 0);
    multiply_step<kTransposedB>(sum[1], tile_a + kSlabBytes, tile_b, p == 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    __syncthreads();  // all warps are done with the tiles
  }
  ptx::fence_registers(sum[0]);
  ptx::fence_registers(sum[1]);
  store_pairs(sum[0], c, tile.row, tile.col, m, n);
  store_pairs(sum[1], c, tile.row + 64, tile.col, m, n);
#else
  (void)map_a, (void)map_b, (void)c, (void)m, (void)n, (void)k;
#endif
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9.
template <bool kTransposedB>
void bf16_gemm_wgmma(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n,
                     int k, cudaStream_t stream) {
  using T = HopperTile<128, 128, 1>;
  if (!fits_copy_engine(a, k, b, kTransposedB ? k : n, c, n)) {
    return bf16_gemm_multistage<kTransposedB>(a, b, c, m, n, k, stream);
  }
  bf16_gemm_wgmma_kernel<T, kTransposedB>
      <<<tiles_of<T::kRows, T::kCols>(m, n), 128, T::kRingBytes, stream>>>(
          map_of_a(a, m, k, T::kRows), map_of_b<kTransposedB>(b, n, k, T::kCols), c, m, n, k);
  CUDA_CHECK(cudaGetLastError());
}
