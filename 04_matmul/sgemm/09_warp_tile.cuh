// Rung 9, warp_tile: a warp's lanes work on one compact tile, each on four pieces of it.
//
// In the rung before, a warp covered 16 x 128 elements, with lanes 8 columns apart: their float4
// lay 32 bytes apart, and half of the banks were left out of each pass. Now the tile of a warp is
// 64 x 32. Its lanes stand 8 by 4, each has a 4 x 4 piece in each quarter of it, and lanes that
// differ load neighbouring float4: all banks, no conflict. And a warp needs 96 values for a step,
// not 144. What is still wrong: while tiles are on their way from global memory, nobody multiplies.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/sgemm/tiles.cuh"
#include "common/cuda_check.cuh"

constexpr int kWarpRows = 64, kWarpCols = 32;

// Where register r of a thread is in the warp's tile: 4 rows in the upper half, 4 in the lower.
__device__ constexpr int piece_row(int r) { return r / 4 * (kWarpRows / 2) + r % 4; }
__device__ constexpr int piece_col(int s) { return s / 4 * (kWarpCols / 2) + s % 4; }

template <int kTile, int kDepth, int kRegs, bool kVectorsA, bool kVectorsB>
__global__ void __launch_bounds__(kTile* kTile / (kRegs * kRegs))
    sgemm_warp_tile_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  constexpr int kThreads = kTile * kTile / (kRegs * kRegs);
  static_assert(kTile * kDepth == 4 * kThreads, "each thread loads one float4 of either tile");
  __shared__ alignas(16) float tile_a[kDepth][kTile], tile_b[kDepth][kTile];
  const TileOrigin tile = tile_of_block<kTile, kTile>(n);
  const int t = threadIdx.x;
  const int a_row = t / (kDepth / 4), a_col = t % (kDepth / 4) * 4;
  const int b_row = t / (kTile / 4), b_col = t % (kTile / 4) * 4;
  const int warp = t / 32, lane = t % 32;
  const int y = warp / (kTile / kWarpCols) * kWarpRows + lane / 4 * 4;
  const int x = warp % (kTile / kWarpCols) * kWarpCols + lane % 4 * 4;
  float sum[kRegs][kRegs] = {};
  for (int p = 0; p < k; p += kDepth) {
    const float4 v = four_or_zero<kVectorsA>(a, tile.row + a_row, p + a_col, m, k);
    tile_a[a_col][a_row] = v.x;
    tile_a[a_col + 1][a_row] = v.y;
    tile_a[a_col + 2][a_row] = v.z;
    tile_a[a_col + 3][a_row] = v.w;
    *reinterpret_cast<float4*>(&tile_b[b_row][b_col]) =
        four_or_zero<kVectorsB>(b, p + b_row, tile.col + b_col, k, n);
    __syncthreads();
#pragma unroll
    for (int q = 0; q < kDepth; ++q) {
      float from_a[kRegs], from_b[kRegs];
#pragma unroll
      for (int r = 0; r < kRegs; r += 4) load_four(&from_a[r], &tile_a[q][y + piece_row(r)]);
#pragma unroll
      for (int s = 0; s < kRegs; s += 4) load_four(&from_b[s], &tile_b[q][x + piece_col(s)]);
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
    for (int s = 0; s < kRegs; s += 4) {
      store_four<kVectorsB>(c, tile.row + y + piece_row(r), tile.col + x + piece_col(s), m, n,
                            &sum[r][s]);
    }
  }
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_warp_tile(const float* a, const float* b, float* c, int m, int n, int k,
                            cudaStream_t stream) {
  constexpr int kTile = 128, kDepth = 8, kRegs = 8;
  const auto launch = [&](auto kernel) {
    kernel<<<tiles_of<kTile, kTile>(m, n), kTile * kTile / (kRegs * kRegs), 0, stream>>>(a, b, c, m,
                                                                                         n, k);
    CUDA_CHECK(cudaGetLastError());
  };
  with_vectors(a, k, b, c, n, [&](auto vectors_a, auto vectors_b) {
    launch(sgemm_warp_tile_kernel<kTile, kDepth, kRegs, vectors_a, vectors_b>);
  });
}
