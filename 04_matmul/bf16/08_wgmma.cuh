// wgmma: four warps multiply straight from shared memory.
//
// mma.sync is an instruction of a warp, takes its operands from registers, and reaches two thirds
// of what Hopper's tensor cores can do. wgmma is an instruction of a warpgroup, four warps: it
// reads A and B from shared memory itself, up to 64 x 256 x 16 at once, and runs in the background.
// Where a tile lies it learns from a descriptor, 64 bits: address, distances, swizzle. B may lie
// along k or along n. What is still wrong: there is one stage. In a block, loading and multiplying
// take turns.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/check.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::bf16 {

template <class T, bool kTransposedB>
__global__ void __launch_bounds__(128)
    bf16_gemm_wgmma_kernel(const __grid_constant__ CUtensorMap map_a,
                           const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* c, int m,
                           int n, int k) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static_assert(T::kTileM == 128, "the warpgroup multiplies twice 64 rows");
  extern __shared__ __align__(1024) unsigned char ring[];
  unsigned char *const tile_a = ring, *const tile_b = ring + T::kBytesA;
  __shared__ std::uint64_t full;
  const TileOrigin tile = tile_of_block<T::kTileM, T::kTileN>(n);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);  // one thread arrives; the copies' bytes count beside it
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  float acc[2][T::kTileN / 2];
  std::uint32_t parity = 0;
  for (int p = 0; p < k; p += kTileK, parity ^= 1) {
    // One k tile comes, and all wait for it.
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(&full, T::kStageBytes);
      ptx::tensor_load(tile_a, &map_a, p, tile.row, &full);
      issue_b<kTransposedB, T::kTileN>(tile_b, &map_b, p, tile.col, &full);
    }
    while (!ptx::mbarrier_try_wait_parity(&full, parity)) {
    }

    // The order of wgmma: fence, products, commit, wait. In between nobody touches accumulators.
    ptx::wgmma_fence();
    issue_k_tile<kTransposedB>(acc[0], tile_a, tile_b, p == 0);
    issue_k_tile<kTransposedB>(acc[1], tile_a + kSlabBytes, tile_b, p == 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    __syncthreads();  // all warps are done with the tiles
  }

  // The compiler does not know that wgmma wrote these registers in the background.
  ptx::fence_registers(acc[0]);
  ptx::fence_registers(acc[1]);
  store_accumulators(acc[0], c, tile.row, tile.col, m, n);
  store_accumulators(acc[1], c, tile.row + 64, tile.col, m, n);
#else
  (void)map_a, (void)map_b, (void)c, (void)m, (void)n, (void)k;
#endif
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. Throws Skip if TMA cannot take the matrices.
template <bool kTransposedB>
void bf16_gemm_wgmma(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n,
                     int k, cudaStream_t stream) {
  using T = GemmTile<128, 128, 1>;
  require_vector_rows<kTransposedB>(a, b, c, n, k);
  bf16_gemm_wgmma_kernel<T, kTransposedB>
      <<<tile_count<T::kTileM, T::kTileN>(m, n), 128, T::kRingBytes, stream>>>(
          map_of_rows(a, m, k, T::kTileM), map_of_b<kTransposedB>(b, n, k, T::kTileN), c, m, n, k);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::bf16
