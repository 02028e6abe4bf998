// Rung 5, swizzled: the same tiles, stored so that eight rows of a column are in eight places.
//
// Shared memory serves 128 bytes at a time, 16 bytes from each of eight bank groups. Within every
// row, the 16-byte piece p now lies where piece p ^ (row % 8) would be (for the rows of A's tile,
// half as long as those 128 bytes, p ^ (row / 2 % 4)). Exclusive or only changes the order of a
// row's pieces, so nothing is lost and no memory is wasted, and eight rows of one column are in
// eight different groups: no conflicts, neither for ldmatrix nor for the stores. What is still
// wrong: while tiles are on their way from global memory, nobody multiplies.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/bf16/04_mma_sync.cuh"
#include "04_matmul/bf16/tiles.cuh"
#include "common/cuda_check.cuh"
#include "common/ptx_mma.cuh"

// Where the piece that begins at (row, col), col a multiple of 8, is in a tile with rows of kCols
// elements: the offset in elements.
template <int kCols>
__host__ __device__ constexpr int swizzled(int row, int col) {
  constexpr int kPieces = kCols / 8;
  static_assert(kPieces == 4 || kPieces % 8 == 0, "rows of 64 bytes or whole passes of 128");
  const int turn = kPieces == 4 ? row / 2 % 4 : row % 8;
  return row * kCols + (col / 8 ^ turn) * 8;
}

// A block of 8 warps, 2 by 4; a warp has 64 x 32 elements of C, 4 x 4 fragments of 16 x 8.
template <bool kVectors>
__global__ void __launch_bounds__(256)
    bf16_gemm_swizzled_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                              int m, int n, int k) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  constexpr int kTile = 128, kDepth = 32;
  __shared__ alignas(128) __nv_bfloat16 tile_a[kTile * kDepth], tile_b[kDepth * kTile];
  const TileOrigin tile = tile_of_block<kTile, kTile>(n);
  const int t = threadIdx.x, warp = t / 32, lane = t % 32;
  const int y = warp / 4 * 64, x = warp % 4 * 32;
  float sum[4][4][4] = {};
  for (int p = 0; p < k; p += kDepth) {
#pragma unroll
    for (int i = 8 * t; i < kTile * kDepth; i += 8 * 256) {
      *reinterpret_cast<uint4*>(&tile_a[swizzled<kDepth>(i / kDepth, i % kDepth)]) =
          eight_or_zero<kVectors>(a, tile.row + i / kDepth, p + i % kDepth, m, k);
      *reinterpret_cast<uint4*>(&tile_b[swizzled<kTile>(i / kTile, i % kTile)]) =
          eight_or_zero<kVectors>(b, p + i / kTile, tile.col + i % kTile, k, n);
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < kDepth; q += 16) {
      std::uint32_t from_a[4][4], from_b[2][4];
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        ptx::ldmatrix_x4(from_a[r],
                         &tile_a[swizzled<kDepth>(y + 16 * r + lane % 16, q + lane / 16 * 8)]);
      }
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        ptx::ldmatrix_x4_trans(from_b[s],
                               &tile_b[swizzled<kTile>(q + lane % 16, x + 16 * s + lane / 16 * 8)]);
      }
#pragma unroll
      for (int r = 0; r < 4; ++r) {
#pragma unroll
        for (int s = 0; s < 4; ++s) {
          const std::uint32_t* two = &from_b[s / 2][s % 2 * 2];
          ptx::mma_m16n8k16(sum[r][s], from_a[r], two[0], two[1]);
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      const int row = tile.row + y + 16 * r + lane / 4, col = tile.col + x + 8 * s + lane % 4 * 2;
      store_two<kVectors>(c, row, col, m, n, sum[r][s][0], sum[r][s][1]);
      store_two<kVectors>(c, row + 8, col, m, n, sum[r][s][2], sum[r][s][3]);
    }
  }
#else
  (void)a, (void)b, (void)c, (void)m, (void)n, (void)k;
#endif
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void bf16_gemm_swizzled(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                               int m, int n, int k, cudaStream_t stream) {
  with_vector_rows(a, k, b, n, c, n, [&](auto vectors) {
    bf16_gemm_swizzled_kernel<vectors>
        <<<tiles_of<128, 128>(m, n), 256, 0, stream>>>(a, b, c, m, n, k);
    CUDA_CHECK(cudaGetLastError());
  });
}
