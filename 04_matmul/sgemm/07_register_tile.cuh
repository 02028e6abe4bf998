// register_tile: each thread computes 8 x 8 elements of C.
//
// For each k a thread loads 8 values of A and 8 of B into registers and multiplies each with each,
// an outer product: 16 loads for 64 multiply-adds, a quarter of a load each where there was more
// than one. The tile of C is 128 x 128 for 256 threads. Now the multipliers can be the limit
// instead of shared memory. What is still wrong: A's tile lies along k, so a load of 16 bytes
// brings four k of one row. nvcc makes such loads, and a thread holds four k of its 8 rows at once:
// so many registers that an SM has room for one block.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/kit/edges.cuh"
#include "common/kit/check.cuh"

namespace matmul::sgemm {

// A block computes kTileM x kTileN elements, kTileK products of each at a time; a thread computes
// kThreadM x kThreadN of them.
template <int kTileM, int kTileN, int kTileK, int kThreadM, int kThreadN>
__global__ void __launch_bounds__(kTileM* kTileN / (kThreadM * kThreadN))
    sgemm_register_tile_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  constexpr int kThreads = kTileM * kTileN / (kThreadM * kThreadN);
  static_assert(kTileM == kTileN && kTileM * kTileK % kThreads == 0, "one loop loads both tiles");
  __shared__ float tile_a[kTileM][kTileK], tile_b[kTileK][kTileN];
  const TileOrigin tile = tile_of_block<kTileM, kTileN>(n);
  const int t = threadIdx.x;
  const int y = t / (kTileN / kThreadN) * kThreadM, x = t % (kTileN / kThreadN) * kThreadN;
  float acc[kThreadM][kThreadN] = {};
  for (int p = 0; p < k; p += kTileK) {
    // Threads bring neighbouring elements, so that their loads are coalesced.
#pragma unroll
    for (int i = t; i < kTileM * kTileK; i += kThreads) {
      tile_a[i / kTileK][i % kTileK] = at_or_zero(a, tile.row + i / kTileK, p + i % kTileK, m, k);
      tile_b[i / kTileN][i % kTileN] = at_or_zero(b, p + i / kTileN, tile.col + i % kTileN, k, n);
    }
    __syncthreads();

    // An outer product for each k: what is loaded once is used 8 times.
#pragma unroll
    for (int q = 0; q < kTileK; ++q) {
      float from_a[kThreadM], from_b[kThreadN];
#pragma unroll
      for (int r = 0; r < kThreadM; ++r) from_a[r] = tile_a[y + r][q];
#pragma unroll
      for (int s = 0; s < kThreadN; ++s) from_b[s] = tile_b[q][x + s];
#pragma unroll
      for (int r = 0; r < kThreadM; ++r) {
#pragma unroll
        for (int s = 0; s < kThreadN; ++s) acc[r][s] += from_a[r] * from_b[s];
      }
    }
    __syncthreads();
  }

  // Unrolled, as all loops over accumulators: only then do their indices name registers.
#pragma unroll
  for (int r = 0; r < kThreadM; ++r) {
#pragma unroll
    for (int s = 0; s < kThreadN; ++s) {
      const int row = tile.row + y + r, col = tile.col + x + s;
      if (row < m && col < n) c[static_cast<std::int64_t>(row) * n + col] = acc[r][s];
    }
  }
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_register_tile(const float* a, const float* b, float* c, int m, int n, int k,
                                cudaStream_t stream) {
  constexpr int kTileM = 128, kTileN = 128, kTileK = 8, kThreadM = 8, kThreadN = 8;
  constexpr int kThreads = kTileM * kTileN / (kThreadM * kThreadN);
  sgemm_register_tile_kernel<kTileM, kTileN, kTileK, kThreadM, kThreadN>
      <<<tile_count<kTileM, kTileN>(m, n), kThreads, 0, stream>>>(a, b, c, m, n, k);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::sgemm
