// mma_sync: the instruction of a warp for 8 bits, on the ring of `multistage`.
//
// Four bytes lie where two bf16 lay, so everything that moves them stays: cp.async, the swizzle,
// ldmatrix, which moves pairs of bytes and does not ask what they mean. Only the instruction is
// new: m16n8k32 takes 32 values of k where m16n8k16 took 16, and Ada, sm_89, carries it out at
// twice the pace. What is still wrong: Hopper does not have it. There the compiler turns it into
// conversions to fp16 and mma.sync of fp16: right, with more digits in its sums than wgmma of fp8
// keeps, but slower than bf16.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/fp8/product.cuh"
#include "04_matmul/kit/gemm_tile_copier.cuh"
#include "04_matmul/kit/grouped_tiles.cuh"
#include "04_matmul/kit/mma_gemm_tile.cuh"
#include "04_matmul/kit/tile_origin.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"

namespace matmul::fp8 {

// a, b: the bytes of A and B as pairs, m x k2 and n x k2.
template <class T, bool kVectors>
__global__ void __launch_bounds__(T::kThreads, 1)
    fp8_gemm_mma_sync_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                             const float* scale_a, const float* scale_b, int m, int n, int k2) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  extern __shared__ __align__(128) uint4 ring_storage[];
  auto* const ring = reinterpret_cast<__nv_bfloat16*>(ring_storage);
  __nv_bfloat16* const last = ring + (T::kStages - 1) * T::kStage;
  const auto after = [=](__nv_bfloat16* stage) { return stage == last ? ring : stage + T::kStage; };
  const TileOrigin tile = grouped_tile<T::kTileM, T::kTileN>(m, n);
  const int warp = threadIdx.x / 32;
  const int y = warp / T::kWarpsAcross * T::kWarpM, x = warp % T::kWarpsAcross * T::kWarpN;

  // All stages but one are filled ahead; a group of copies for each, even if it is empty.
  GemmTileCopier<T::kTileM, T::kTileK, T::kThreads, true> copier_a(a, tile.row, 0, m, k2);
  GemmTileCopier<T::kTileN, T::kTileK, T::kThreads, true> copier_b(b, tile.col, 0, n, k2);
  const int k_tiles = kit::divide_up(k2, T::kTileK);
  const auto issue = [&](__nv_bfloat16* stage, bool exists) {
    if (exists) {
      copier_a.issue(stage);
      copier_b.issue(stage + T::kTileA);
    }
    ptx::cp_async_commit();
    copier_a.advance(0, T::kTileK);
    copier_b.advance(0, T::kTileK);
  };
#pragma unroll
  for (int s = 0; s < T::kStages - 1; ++s) issue(ring + s * T::kStage, s < k_tiles);

  float acc[T::kPartsA][2 * T::kPartsB][4] = {};
  __nv_bfloat16 *stage = ring, *free = last;  // the stage in use, and the one to fill next
  for (int i = 0; i < k_tiles; ++i) {
    ptx::cp_async_wait<T::kStages - 2>();
    __syncthreads();  // this stage is complete, and all warps have left the one before
    issue(free, i + T::kStages - 1 < k_tiles);
    free = after(free);
    // region products
#pragma unroll
    for (int q = 0; q < T::kTileK / 16; ++q) {  // 16 pairs: 32 values of k
      Fragments<T> fragments;
      fragments.load(stage, q, y, x);
#pragma unroll
      for (int r = 0; r < T::kPartsA; ++r) {
#pragma unroll
        for (int s = 0; s < 2 * T::kPartsB; ++s) {
          const std::uint32_t* two = &fragments.b[s / 2][s % 2 * 2];
          ptx::mma_m16n8k32_e4m3(acc[r][s], fragments.a[r], two[0], two[1]);
        }
      }
    }
    // endregion
    stage = after(stage);
  }

  // The scales, once for each sum; then C leaves by way of the ring.
  const float scale = *scale_a * *scale_b;
#pragma unroll
  for (int r = 0; r < T::kPartsA; ++r) {
#pragma unroll
    for (int s = 0; s < 2 * T::kPartsB; ++s) {
#pragma unroll
      for (int i = 0; i < 4; ++i) acc[r][s][i] *= scale;
    }
  }
  ptx::cp_async_wait<0>();
  __syncthreads();  // the ring is free
  store_part<T, kVectors>(acc, ring, c, tile.row + y, tile.col + x, m, n);
#else
  (void)a, (void)b, (void)c, (void)scale_a, (void)scale_b, (void)m, (void)n, (void)k2;
#endif
}

// C = A B' with one scale for each of A and B. Device pointers; sizes up to 2e9.
inline void fp8_gemm_mma_sync(const Product<>& x, cudaStream_t stream) {
  using T = MmaGemmTile<true, 128, 128, 64, 32, 64, 3>;  // 8 warps, 2 by 4
  static_assert(T::kSharedBytes <= 99 * 1024, "every GPU since sm_89 has that much");
  kit::require_aligned_to_16(x.a, x.b);
  const auto kernel = kit::has_vector_rows(x.c, x.n) ? fp8_gemm_mma_sync_kernel<T, true>
                                                     : fp8_gemm_mma_sync_kernel<T, false>;
  kit::allow_shared(kernel, T::kSharedBytes);
  kernel<<<tile_count<T::kTileM, T::kTileN>(x.m, x.n), T::kThreads, T::kSharedBytes, stream>>>(
      reinterpret_cast<const __nv_bfloat16*>(x.a), reinterpret_cast<const __nv_bfloat16*>(x.b), x.c,
      x.scales_a, x.scales_b, x.m, x.n, x.k / 2);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::fp8
