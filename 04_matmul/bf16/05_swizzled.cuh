// Rung 5, swizzled: the same tiles, stored so that eight rows of a column are in eight places.
//
// Shared memory serves 128 bytes at a time, 16 bytes from each of eight bank groups. Within every
// row, the 16-byte chunk p now lies where chunk p ^ (row % 8) would be (for the rows of A's tile,
// half as long as those 128 bytes, p ^ (row / 2 % 4)). Exclusive or only changes the order of a
// row's chunks, so nothing is lost and no memory is wasted, and eight rows of one column are in
// eight different groups: no conflicts, neither for ldmatrix nor for the stores. What is still
// wrong: while tiles are on their way from global memory, nobody multiplies.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/bf16/kit/fragment_store.cuh"
#include "04_matmul/bf16/kit/tile_copy.cuh"
#include "04_matmul/kit/tile_origin.cuh"
#include "common/kit/check.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace matmul::bf16 {

// A block of 8 warps, 2 by 4; a warp has 64 x 32 elements of C, 4 x 4 fragments of 16 x 8.
template <bool kVectors>
__global__ void __launch_bounds__(256)
    bf16_gemm_swizzled_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                              int m, int n, int k) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  constexpr int kTile = 128, kTileK = 32;
  __shared__ alignas(128) __nv_bfloat16 tile_a[kTile * kTileK], tile_b[kTileK * kTile];

  // This block's tile of C, and this warp's part of it.
  const TileOrigin tile = tile_of_block<kTile, kTile>(n);
  const int t = threadIdx.x, warp = t / 32, lane = t % 32;
  const int y = warp / 4 * 64, x = warp % 4 * 32;
  float acc[4][4][4] = {};

  for (int p = 0; p < k; p += kTileK) {
    // All threads bring one k tile, 16 bytes each at a time; zeros past the edges.
    // region load
    // Where a chunk goes is the only change against the rung before.
#pragma unroll
    for (int i = 8 * t; i < kTile * kTileK; i += 8 * 256) {
      *reinterpret_cast<uint4*>(&tile_a[kit::swizzled<kTileK>(i / kTileK, i % kTileK)]) =
          eight_or_zero<kVectors>(a, tile.row + i / kTileK, p + i % kTileK, m, k);
      *reinterpret_cast<uint4*>(&tile_b[kit::swizzled<kTile>(i / kTile, i % kTile)]) =
          eight_or_zero<kVectors>(b, p + i / kTile, tile.col + i % kTile, k, n);
    }
    // endregion
    __syncthreads();

    // 16 values of k at a time: fragments from shared memory, then every A with every B.
#pragma unroll
    for (int q = 0; q < kTileK; q += 16) {
      std::uint32_t from_a[4][4], from_b[2][4];
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        ptx::ldmatrix_x4(from_a[r],
                         &tile_a[kit::swizzled<kTileK>(y + 16 * r + lane % 16, q + lane / 16 * 8)]);
      }
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        ptx::ldmatrix_x4_trans(
            from_b[s], &tile_b[kit::swizzled<kTile>(q + lane % 16, x + 16 * s + lane / 16 * 8)]);
      }
#pragma unroll
      for (int r = 0; r < 4; ++r) {
#pragma unroll
        for (int s = 0; s < 4; ++s) {
          const std::uint32_t* two = &from_b[s / 2][s % 2 * 2];
          ptx::mma_m16n8k16(acc[r][s], from_a[r], two[0], two[1]);
        }
      }
    }
    __syncthreads();  // before the next tile overwrites this one
  }

  // A lane has two neighbours of a row, and two more eight rows below: round and store them.
#pragma unroll
  for (int r = 0; r < 4; ++r) {
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      const int row = tile.row + y + 16 * r + lane / 4, col = tile.col + x + 8 * s + lane % 4 * 2;
      store_two<kVectors>(c, row, col, m, n, acc[r][s][0], acc[r][s][1]);
      store_two<kVectors>(c, row + 8, col, m, n, acc[r][s][2], acc[r][s][3]);
    }
  }
#else
  (void)a, (void)b, (void)c, (void)m, (void)n, (void)k;
#endif
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void bf16_gemm_swizzled(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                               int m, int n, int k, cudaStream_t stream) {
  const bool vectors = have_vector_rows<false>(a, b, c, n, k);
  const auto kernel = vectors ? bf16_gemm_swizzled_kernel<true> : bf16_gemm_swizzled_kernel<false>;
  kernel<<<tile_count<128, 128>(m, n), 256, 0, stream>>>(a, b, c, m, n, k);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::bf16
