// Rung 7, register_tile: each thread computes 8 x 8 elements of C.
//
// For each step of the sum a thread loads 8 values of A and 8 of B into registers and multiplies
// each with each: 16 loads for 64 multiply-adds, a quarter of a load each where there was more than
// one. The tile of C is 128 x 128 for 256 threads. Now the multipliers can be the limit instead of
// shared memory. What is still wrong: the 16 values are loaded one by one, those of A from
// addresses 8 floats apart, which share banks.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/sgemm/tiles.cuh"
#include "common/cuda_check.cuh"

template <int kTile, int kDepth, int kRegs>
__global__ void __launch_bounds__(kTile* kTile / (kRegs * kRegs))
    sgemm_register_tile_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  constexpr int kThreads = kTile * kTile / (kRegs * kRegs);
  static_assert(kTile * kDepth % kThreads == 0, "all threads load the same number of elements");
  __shared__ float tile_a[kTile][kDepth], tile_b[kDepth][kTile];
  const TileOrigin tile = tile_of_block<kTile, kTile>(n);
  const int t = threadIdx.x;
  const int y = t / (kTile / kRegs) * kRegs, x = t % (kTile / kRegs) * kRegs;
  float sum[kRegs][kRegs] = {};
  for (int p = 0; p < k; p += kDepth) {
#pragma unroll
    for (int i = t; i < kTile * kDepth; i += kThreads) {
      tile_a[i / kDepth][i % kDepth] = at_or_zero(a, tile.row + i / kDepth, p + i % kDepth, m, k);
      tile_b[i / kTile][i % kTile] = at_or_zero(b, p + i / kTile, tile.col + i % kTile, k, n);
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < kDepth; ++q) {
      float from_a[kRegs], from_b[kRegs];
#pragma unroll
      for (int r = 0; r < kRegs; ++r) from_a[r] = tile_a[y + r][q];
#pragma unroll
      for (int s = 0; s < kRegs; ++s) from_b[s] = tile_b[q][x + s];
#pragma unroll
      for (int r = 0; r < kRegs; ++r) {
#pragma unroll
        for (int s = 0; s < kRegs; ++s) sum[r][s] += from_a[r] * from_b[s];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kRegs; ++r) {
#pragma unroll
    for (int s = 0; s < kRegs; ++s) {
      const int row = tile.row + y + r, col = tile.col + x + s;
      if (row < m && col < n) c[static_cast<std::int64_t>(row) * n + col] = sum[r][s];
    }
  }
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_register_tile(const float* a, const float* b, float* c, int m, int n, int k,
                                cudaStream_t stream) {
  constexpr int kTile = 128, kDepth = 8, kRegs = 8;
  constexpr int kThreads = kTile * kTile / (kRegs * kRegs);
  sgemm_register_tile_kernel<kTile, kDepth, kRegs>
      <<<tiles_of<kTile, kTile>(m, n), kThreads, 0, stream>>>(a, b, c, m, n, k);
  CUDA_CHECK(cudaGetLastError());
}
