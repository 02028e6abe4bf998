// wmma: the tensor cores, through C++.
//
// A tensor core takes small matrices, not numbers: a warp as a whole multiplies 16 x 16 by 16 x 16
// and adds the result to a third one, 4096 multiply-adds in one go. The matrices are "fragments",
// spread over the lanes' registers in a way that CUDA does not tell. Around that, what the fp32
// ladder has shown: a tile of C for each block, tiles of A and B in shared memory, zeros past the
// edges. What is still wrong: to round a fragment we must know which lane has what, so it takes a
// detour through shared memory; and loads from there collide, up to 8 ways.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstdint>

#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/check.cuh"

namespace matmul::bf16 {

// A block of 8 warps, 2 by 4; a warp has 64 x 32 elements of C, 4 x 2 fragments.
template <bool kVectors>
__global__ void __launch_bounds__(256)
    bf16_gemm_wmma_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                          int n, int k) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  using namespace nvcuda;
  constexpr int kTile = 128, kTileK = 32;
  __shared__ alignas(128) __nv_bfloat16 tile_a[kTile][kTileK], tile_b[kTileK][kTile];
  __shared__ alignas(128) float staging[8][16][16];

  // This block's tile of C, and this warp's part of it.
  const TileOrigin tile = tile_of_block<kTile, kTile>(n);
  const int t = threadIdx.x, warp = t / 32, lane = t % 32;
  const int y = warp / 4 * 64, x = warp % 4 * 32;

  // The accumulators: 4 x 2 fragments in fp32, all zero.
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[4][2];
#pragma unroll
  for (int r = 0; r < 4; ++r) {
#pragma unroll
    for (int s = 0; s < 2; ++s) wmma::fill_fragment(acc[r][s], 0.0f);
  }

  for (int p = 0; p < k; p += kTileK) {
    // All threads bring one k tile, 16 bytes each at a time; zeros past the edges.
#pragma unroll
    for (int i = 8 * t; i < kTile * kTileK; i += 8 * 256) {
      *reinterpret_cast<uint4*>(&tile_a[i / kTileK][i % kTileK]) =
          eight_or_zero<kVectors>(a, tile.row + i / kTileK, p + i % kTileK, m, k);
      *reinterpret_cast<uint4*>(&tile_b[i / kTile][i % kTile]) =
          eight_or_zero<kVectors>(b, p + i / kTile, tile.col + i % kTile, k, n);
    }
    __syncthreads();

    // region products
    // 16 values of k at a time: fragments from shared memory, then every A with every B.
#pragma unroll
    for (int q = 0; q < kTileK; q += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> from_a[4];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> from_b[2];
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        wmma::load_matrix_sync(from_a[r], &tile_a[y + 16 * r][q], kTileK);
      }
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        wmma::load_matrix_sync(from_b[s], &tile_b[q][x + 16 * s], kTile);
      }
#pragma unroll
      for (int r = 0; r < 4; ++r) {
#pragma unroll
        for (int s = 0; s < 2; ++s) wmma::mma_sync(acc[r][s], from_a[r], from_b[s], acc[r][s]);
      }
    }
    // endregion
    __syncthreads();  // before the next tile overwrites this one
  }

  // Round each fragment by way of shared memory: only there is known what lies where.
#pragma unroll
  for (int r = 0; r < 4; ++r) {
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      wmma::store_matrix_sync(&staging[warp][0][0], acc[r][s], 16, wmma::mem_row_major);
      __syncwarp();
      const int row = lane / 2, col = lane % 2 * 8;
      alignas(16) __nv_bfloat16 rounded[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) rounded[i] = __float2bfloat16(staging[warp][row][col + i]);
      store_eight<kVectors>(c, tile.row + y + 16 * r + row, tile.col + x + 16 * s + col, m, n,
                            *reinterpret_cast<const uint4*>(rounded));
      __syncwarp();
    }
  }
#else
  (void)a, (void)b, (void)c, (void)m, (void)n, (void)k;
#endif
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void bf16_gemm_wmma(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                           int n, int k, cudaStream_t stream) {
  const bool vectors = have_vector_rows<false>(a, b, c, n, k);
  const auto kernel = vectors ? bf16_gemm_wmma_kernel<true> : bf16_gemm_wmma_kernel<false>;
  kernel<<<tile_count<128, 128>(m, n), 256, 0, stream>>>(a, b, c, m, n, k);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::bf16
