// warp_tile: a warp's lanes work on one compact tile, each on four fragments of it.
//
// In the rung before, a warp covered 16 x 128 elements, with lanes 8 columns apart: their float4
// lay 32 bytes apart, and half of the banks were left out of each pass over shared memory. Now the
// tile of a warp is 64 x 32. Its lanes stand 8 by 4, each has a 4 x 4 fragment in each quarter of
// it, and lanes that differ load neighbouring float4: all banks, no conflict. And a warp needs 96
// values for each k, not 144. What is still wrong: while tiles are on their way from global memory,
// nobody multiplies.
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
    sgemm_warp_tile_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  constexpr int kThreads = kTileM * kTileN / (kThreadM * kThreadN);
  constexpr int kWarpM = 8 * kThreadM, kWarpN = 4 * kThreadN;
  static_assert(kTileM * kTileK == 4 * kThreads, "each thread loads one float4 of A's tile");
  static_assert(kTileK * kTileN == 4 * kThreads, "each thread loads one float4 of B's tile");
  __shared__ alignas(16) float tile_a[kTileK][kTileM], tile_b[kTileK][kTileN];
  const TileOrigin tile = tile_of_block<kTileM, kTileN>(n);
  const int t = threadIdx.x;
  const int a_row = t / (kTileK / 4), a_col = t % (kTileK / 4) * 4;
  const int b_row = t / (kTileN / 4), b_col = t % (kTileN / 4) * 4;

  // region place
  // The warp's tile in the block's, this lane's first fragment in it, and from there to register
  // r, s: 4 rows in the upper half of the warp's tile, 4 in the lower, and columns likewise.
  const int warp = t / 32, lane = t % 32;
  const int y = warp / (kTileN / kWarpN) * kWarpM + lane / 4 * 4;
  const int x = warp % (kTileN / kWarpN) * kWarpN + lane % 4 * 4;
  const auto row_of = [](int r) { return r / 4 * (kWarpM / 2) + r % 4; };
  const auto col_of = [](int s) { return s / 4 * (kWarpN / 2) + s % 4; };
  // endregion

  float acc[kThreadM][kThreadN] = {};
  for (int p = 0; p < k; p += kTileK) {
    // The tiles, A's transposed.
    const float4 v = four_or_zero<kVectorsA>(a, tile.row + a_row, p + a_col, m, k);
    tile_a[a_col][a_row] = v.x;
    tile_a[a_col + 1][a_row] = v.y;
    tile_a[a_col + 2][a_row] = v.z;
    tile_a[a_col + 3][a_row] = v.w;
    *reinterpret_cast<float4*>(&tile_b[b_row][b_col]) =
        four_or_zero<kVectorsB>(b, p + b_row, tile.col + b_col, k, n);
    __syncthreads();

    // Lanes that differ load neighbours; the others load the same float4, which is one access.
#pragma unroll
    for (int q = 0; q < kTileK; ++q) {
      float from_a[kThreadM], from_b[kThreadN];
#pragma unroll
      for (int r = 0; r < kThreadM; r += 4) load_four(&from_a[r], &tile_a[q][y + row_of(r)]);
#pragma unroll
      for (int s = 0; s < kThreadN; s += 4) load_four(&from_b[s], &tile_b[q][x + col_of(s)]);
#pragma unroll
      for (int r = 0; r < kThreadM; ++r) {
#pragma unroll
        for (int s = 0; s < kThreadN; ++s) acc[r][s] += from_a[r] * from_b[s];
      }
    }
    __syncthreads();
  }

#pragma unroll
  for (int r = 0; r < kThreadM; ++r) {
#pragma unroll
    for (int s = 0; s < kThreadN; s += 4) {
      store_four<kVectorsB>(c, tile.row + y + row_of(r), tile.col + x + col_of(s), m, n,
                            &acc[r][s]);
    }
  }
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_warp_tile(const float* a, const float* b, float* c, int m, int n, int k,
                            cudaStream_t stream) {
  constexpr int kTileM = 128, kTileN = 128, kTileK = 8, kThreadM = 8, kThreadN = 8;
  constexpr int kThreads = kTileM * kTileN / (kThreadM * kThreadN);
  with_vectors(a, k, b, c, n, [&](auto vectors_a, auto vectors_b) {
    sgemm_warp_tile_kernel<kTileM, kTileN, kTileK, kThreadM, kThreadN, vectors_a, vectors_b>
        <<<tile_count<kTileM, kTileN>(m, n), kThreads, 0, stream>>>(a, b, c, m, n, k);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace matmul::sgemm
