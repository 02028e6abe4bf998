// vectorized: 16 bytes a load, and A's tile transposed.
//
// A thread loads 4 values of a row of A and stores them into 4 rows of the tile, one for each k.
// Now the 8 values of A that it needs for one k lie side by side as those of B do, and 4 loads
// bring all 16. It no longer holds what it does not need yet, and an SM has room for two blocks.
// Global memory is read by two loads of 16 bytes instead of eight of 4; where rows do not begin at
// multiples of 16 bytes, by single floats. What is still wrong: lanes of a warp load their vectors
// from places that share banks.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/kit/edges.cuh"
#include "common/kit/check.cuh"

namespace matmul::sgemm {

template <int kTileM, int kTileN, int kTileK, int kThreadM, int kThreadN, bool kVectorsA,
          bool kVectorsB>
__global__ void __launch_bounds__(kTileM* kTileN / (kThreadM * kThreadN))
    sgemm_vectorized_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  constexpr int kThreads = kTileM * kTileN / (kThreadM * kThreadN);
  static_assert(kTileM * kTileK == 4 * kThreads, "each thread loads one float4 of A's tile");
  static_assert(kTileK * kTileN == 4 * kThreads, "each thread loads one float4 of B's tile");
  __shared__ alignas(16) float tile_a[kTileK][kTileM], tile_b[kTileK][kTileN];
  const TileOrigin tile = tile_of_block<kTileM, kTileN>(n);
  const int t = threadIdx.x;
  const int a_row = t / (kTileK / 4), a_col = t % (kTileK / 4) * 4;
  const int b_row = t / (kTileN / 4), b_col = t % (kTileN / 4) * 4;
  const int y = t / (kTileN / kThreadN) * kThreadM, x = t % (kTileN / kThreadN) * kThreadN;
  float acc[kThreadM][kThreadN] = {};
  for (int p = 0; p < k; p += kTileK) {
    // region loop
    // A's four neighbours belong to four different k: they are stored one below the other.
    const float4 v = four_or_zero<kVectorsA>(a, tile.row + a_row, p + a_col, m, k);
    tile_a[a_col][a_row] = v.x;
    tile_a[a_col + 1][a_row] = v.y;
    tile_a[a_col + 2][a_row] = v.z;
    tile_a[a_col + 3][a_row] = v.w;
    *reinterpret_cast<float4*>(&tile_b[b_row][b_col]) =
        four_or_zero<kVectorsB>(b, p + b_row, tile.col + b_col, k, n);
    __syncthreads();

    // Four loads bring the 16 values of one k, and no other.
#pragma unroll
    for (int q = 0; q < kTileK; ++q) {
      float from_a[kThreadM], from_b[kThreadN];
#pragma unroll
      for (int r = 0; r < kThreadM; r += 4) load_four(&from_a[r], &tile_a[q][y + r]);
#pragma unroll
      for (int s = 0; s < kThreadN; s += 4) load_four(&from_b[s], &tile_b[q][x + s]);
        // endregion
#pragma unroll
      for (int r = 0; r < kThreadM; ++r) {
#pragma unroll
        for (int s = 0; s < kThreadN; ++s) acc[r][s] += from_a[r] * from_b[s];
      }
    }
    __syncthreads();
  }

  // C has the row length of B: where float4 fit the one, they fit the other.
#pragma unroll
  for (int r = 0; r < kThreadM; ++r) {
#pragma unroll
    for (int s = 0; s < kThreadN; s += 4) {
      store_four<kVectorsB>(c, tile.row + y + r, tile.col + x + s, m, n, &acc[r][s]);
    }
  }
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_vectorized(const float* a, const float* b, float* c, int m, int n, int k,
                             cudaStream_t stream) {
  constexpr int kTileM = 128, kTileN = 128, kTileK = 8, kThreadM = 8, kThreadN = 8;
  constexpr int kThreads = kTileM * kTileN / (kThreadM * kThreadN);
  with_vectors(a, k, b, c, n, [&](auto vectors_a, auto vectors_b) {
    sgemm_vectorized_kernel<kTileM, kTileN, kTileK, kThreadM, kThreadN, vectors_a, vectors_b>
        <<<tile_count<kTileM, kTileN>(m, n), kThreads, 0, stream>>>(a, b, c, m, n, k);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace matmul::sgemm
