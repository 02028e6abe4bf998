// Rung 8, vectorized: 16 bytes a load, from global and from shared memory.
//
// B's tile is copied as float4. A's is turned on its way into shared memory: a thread loads 4
// values of a row and stores them into 4 rows of the tile, one for each step of the sum. Now the 8
// values of A that a thread needs for one step lie side by side as those of B do, and 16 loads
// become 4. Where rows do not begin at multiples of 16 bytes, loads go one by one, and the rest
// stays. What is still wrong: lanes of a warp load their vectors from places that share banks.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/sgemm/tiles.cuh"
#include "common/cuda_check.cuh"

template <int kTile, int kDepth, int kRegs, bool kVectorsA, bool kVectorsB>
__global__ void __launch_bounds__(kTile* kTile / (kRegs * kRegs))
    sgemm_vectorized_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  constexpr int kThreads = kTile * kTile / (kRegs * kRegs);
  static_assert(kTile * kDepth == 4 * kThreads, "each thread loads one float4 of either tile");
  __shared__ alignas(16) float tile_a[kDepth][kTile], tile_b[kDepth][kTile];
  const TileOrigin tile = tile_of_block<kTile, kTile>(n);
  const int t = threadIdx.x;
  const int a_row = t / (kDepth / 4), a_col = t % (kDepth / 4) * 4;
  const int b_row = t / (kTile / 4), b_col = t % (kTile / 4) * 4;
  const int y = t / (kTile / kRegs) * kRegs, x = t % (kTile / kRegs) * kRegs;
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
      for (int r = 0; r < kRegs; r += 4) load_four(&from_a[r], &tile_a[q][y + r]);
#pragma unroll
      for (int s = 0; s < kRegs; s += 4) load_four(&from_b[s], &tile_b[q][x + s]);
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
      store_four<kVectorsB>(c, tile.row + y + r, tile.col + x + s, m, n, &sum[r][s]);
    }
  }
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_vectorized(const float* a, const float* b, float* c, int m, int n, int k,
                             cudaStream_t stream) {
  constexpr int kTile = 128, kDepth = 8, kRegs = 8;
  const auto launch = [&](auto kernel) {
    kernel<<<tiles_of<kTile, kTile>(m, n), kTile * kTile / (kRegs * kRegs), 0, stream>>>(a, b, c, m,
                                                                                         n, k);
    CUDA_CHECK(cudaGetLastError());
  };
  with_vectors(a, k, b, c, n, [&](auto vectors_a, auto vectors_b) {
    launch(sgemm_vectorized_kernel<kTile, kDepth, kRegs, vectors_a, vectors_b>);
  });
}
