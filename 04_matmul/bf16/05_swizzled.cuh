// swizzled: the same tiles, stored so that eight rows of a column are in eight places.
//
// Shared memory serves 128 bytes at a time, 16 bytes from each of eight bank groups. Within every
// row, the 16-byte chunk p now lies where chunk p ^ (row % 8) would be (for rows of 64 bytes, half
// of those 128, p ^ (row / 2 % 4)): only the order of a row's chunks changes, and eight rows of one
// column are in eight groups. No conflicts are left, for ldmatrix, for the stores, and for C, which
// leaves through such a tile, too: lanes write 64 bytes of a row together, where it was 16. What is
// still wrong: while tiles are on their way from global memory, nobody multiplies.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/mma_gemm_tile.cuh"
#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/check.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace matmul::bf16 {

template <class T, bool kVectors>
__global__ void __launch_bounds__(T::kThreads)
    bf16_gemm_swizzled_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                              int m, int n, int k) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  // A's tile, then B's; at the end that of C.
  __shared__ alignas(128) __nv_bfloat16 stage[T::kRoom];
  __nv_bfloat16* const tile_b = stage + T::kTileA;

  // This block's tile of C, and this warp's part of it.
  const TileOrigin tile = tile_of_block<T::kTileM, T::kTileN>(n);
  const int t = threadIdx.x, warp = t / 32;
  const int y = warp / T::kWarpsAcross * T::kWarpM, x = warp % T::kWarpsAcross * T::kWarpN;
  float acc[T::kPartsA][2 * T::kPartsB][4] = {};

  for (int p = 0; p < k; p += T::kTileK) {
    // All threads bring one k tile, 16 bytes each at a time; zeros past the edges.
    static_assert(T::kTileA == T::kTileB, "they have as many chunks");
    // region load
#pragma unroll
    for (int i = 8 * t; i < T::kTileA; i += 8 * T::kThreads) {
      *reinterpret_cast<uint4*>(stage + kit::swizzled<T::kTileK>(i / T::kTileK, i % T::kTileK)) =
          eight_or_zero<kVectors>(a, tile.row + i / T::kTileK, p + i % T::kTileK, m, k);
      *reinterpret_cast<uint4*>(tile_b + kit::swizzled<T::kTileN>(i / T::kTileN, i % T::kTileN)) =
          eight_or_zero<kVectors>(b, p + i / T::kTileN, tile.col + i % T::kTileN, k, n);
    }
    // endregion
    __syncthreads();

    // 16 values of k at a time: fragments from shared memory, then every A with every B.
#pragma unroll
    for (int q = 0; q < T::kTileK / 16; ++q) {
      Fragments<T> fragments;
      fragments.load(stage, q, y, x);
#pragma unroll
      for (int r = 0; r < T::kPartsA; ++r) {
#pragma unroll
        for (int s = 0; s < 2 * T::kPartsB; ++s) {
          const std::uint32_t* two = &fragments.b[s / 2][s % 2 * 2];
          ptx::mma_m16n8k16(acc[r][s], fragments.a[r], two[0], two[1]);
        }
      }
    }
    __syncthreads();  // before the next tile overwrites this one
  }

  // C leaves by way of shared memory.
  store_part<T, kVectors>(acc, stage, c, tile.row + y, tile.col + x, m, n);
#else
  (void)a, (void)b, (void)c, (void)m, (void)n, (void)k;
#endif
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void bf16_gemm_swizzled(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                               int m, int n, int k, cudaStream_t stream) {
  const bool vectors = have_vector_rows<false>(a, b, c, n, k);
  using T = MmaGemmTile<false, 128, 128, 64, 32, 32, 1>;
  const auto kernel =
      vectors ? bf16_gemm_swizzled_kernel<T, true> : bf16_gemm_swizzled_kernel<T, false>;
  kernel<<<tile_count<T::kTileM, T::kTileN>(m, n), T::kThreads, 0, stream>>>(a, b, c, m, n, k);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::bf16
