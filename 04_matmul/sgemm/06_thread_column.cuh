// Rung 6, thread_column: each thread computes 8 elements of a column of C.
//
// The 8 sums stay in registers. One value of B, loaded once, now serves 8 multiplications, each
// with its own value of A: 9 loads from shared memory for 8 multiply-adds where there were 16. The
// tile of C grows to 64 x 64 with half the threads, so global memory is read half as often too.
// What is still wrong: still more than one load for each multiply-add.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/sgemm/tiles.cuh"
#include "common/cuda_check.cuh"

template <int kTile, int kDepth, int kRows>
__global__ void __launch_bounds__(kTile* kTile / kRows)
    sgemm_thread_column_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  constexpr int kThreads = kTile * kTile / kRows;
  static_assert(kThreads == kTile * kDepth, "each thread loads one element of either tile");
  __shared__ float tile_a[kTile][kDepth], tile_b[kDepth][kTile];
  const TileOrigin tile = tile_of_block<kTile, kTile>(n);
  const int t = threadIdx.x;
  const int y = t / kTile * kRows, x = t % kTile;  // of this thread's elements, within the tile
  float sum[kRows] = {};
  for (int p = 0; p < k; p += kDepth) {
    tile_a[t / kDepth][t % kDepth] = at_or_zero(a, tile.row + t / kDepth, p + t % kDepth, m, k);
    tile_b[t / kTile][x] = at_or_zero(b, p + t / kTile, tile.col + x, k, n);
    __syncthreads();
    for (int q = 0; q < kDepth; ++q) {
      const float from_b = tile_b[q][x];
#pragma unroll
      for (int r = 0; r < kRows; ++r) sum[r] += tile_a[y + r][q] * from_b;
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int row = tile.row + y + r, col = tile.col + x;
    if (row < m && col < n) c[static_cast<std::int64_t>(row) * n + col] = sum[r];
  }
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_thread_column(const float* a, const float* b, float* c, int m, int n, int k,
                                cudaStream_t stream) {
  constexpr int kTile = 64, kDepth = 8, kRows = 8;
  sgemm_thread_column_kernel<kTile, kDepth, kRows>
      <<<tiles_of<kTile, kTile>(m, n), kTile * kDepth, 0, stream>>>(a, b, c, m, n, k);
  CUDA_CHECK(cudaGetLastError());
}
