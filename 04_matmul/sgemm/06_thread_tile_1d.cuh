// thread_tile_1d: each thread computes 8 elements of a column of C.
//
// The 8 sums stay in registers: accumulators. One value of B, loaded once, now serves 8
// multiplications, each with its own value of A: 9 loads from shared memory for 8 multiply-adds
// where there were 16. The tile of C grows to 64 x 64 with half the threads, so global memory is
// read half as often too. What is still wrong: still more than one load for each multiply-add.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/kit/edges.cuh"
#include "common/kit/check.cuh"

namespace matmul::sgemm {

// A block computes kTileM x kTileN elements, kTileK products of each at a time; a thread kThreadM
// of them, one below the other.
template <int kTileM, int kTileN, int kTileK, int kThreadM>
__global__ void __launch_bounds__(kTileM / kThreadM * kTileN)
    sgemm_thread_tile_1d_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  constexpr int kThreads = kTileM / kThreadM * kTileN;
  static_assert(kThreads == kTileM * kTileK && kThreads == kTileK * kTileN,
                "each thread loads one element of either tile");
  __shared__ float tile_a[kTileM][kTileK], tile_b[kTileK][kTileN];
  const TileOrigin tile = tile_of_block<kTileM, kTileN>(n);
  const int t = threadIdx.x;
  const int y = t / kTileN * kThreadM, x = t % kTileN;  // of this thread's elements, in the tile
  float acc[kThreadM] = {};
  for (int p = 0; p < k; p += kTileK) {
    tile_a[t / kTileK][t % kTileK] = at_or_zero(a, tile.row + t / kTileK, p + t % kTileK, m, k);
    tile_b[t / kTileN][x] = at_or_zero(b, p + t / kTileN, tile.col + x, k, n);
    __syncthreads();
    for (int q = 0; q < kTileK; ++q) {
      const float from_b = tile_b[q][x];
#pragma unroll
      for (int r = 0; r < kThreadM; ++r) acc[r] += tile_a[y + r][q] * from_b;
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kThreadM; ++r) {
    const int row = tile.row + y + r, col = tile.col + x;
    if (row < m && col < n) c[static_cast<std::int64_t>(row) * n + col] = acc[r];
  }
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_thread_tile_1d(const float* a, const float* b, float* c, int m, int n, int k,
                                 cudaStream_t stream) {
  constexpr int kTileM = 64, kTileN = 64, kTileK = 8, kThreadM = 8;
  sgemm_thread_tile_1d_kernel<kTileM, kTileN, kTileK, kThreadM>
      <<<tile_count<kTileM, kTileN>(m, n), kTileM / kThreadM * kTileN, 0, stream>>>(a, b, c, m, n,
                                                                                    k);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::sgemm
