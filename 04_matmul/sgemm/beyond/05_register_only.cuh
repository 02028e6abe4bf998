// register_only: tiles in registers alone, without shared memory.
//
// Beside `coalesced`: a thread computes 8 x 8 elements of C, so what it loads serves 8 times, and a
// product of side n loads 2 n^3 / 8 elements instead of 2 n^3. Its columns lie 16 apart, so that
// neighbouring threads still read neighbours. What is still wrong: 16 threads of a block load the
// same row of A, and 16 the same column of B, each for itself. Shared memory is for that
// (`register_tile`).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/kit/edges.cuh"
#include "common/kit/check.cuh"

namespace matmul::sgemm {

// A block computes kTileM x kTileN elements, a thread kThreadM x kThreadN of them.
template <int kTileM, int kTileN, int kThreadM, int kThreadN>
__global__ void __launch_bounds__(kTileM* kTileN / (kThreadM * kThreadN))
    sgemm_register_only_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  constexpr int kAcross = kTileN / kThreadN;  // threads of a row of the block
  const TileOrigin tile = tile_of_block<kTileM, kTileN>(n);
  const int t = threadIdx.x;
  const int first_row = tile.row + t / kAcross * kThreadM, first_col = tile.col + t % kAcross;
  // Columns kAcross apart: in each step the lanes of a row read neighbours.
  float acc[kThreadM][kThreadN] = {};
  for (int p = 0; p < k; ++p) {
    // 16 loads, then an outer product: each value serves 8 times.
    float from_a[kThreadM], from_b[kThreadN];
#pragma unroll
    for (int r = 0; r < kThreadM; ++r) from_a[r] = at_or_zero(a, first_row + r, p, m, k);
#pragma unroll
    for (int s = 0; s < kThreadN; ++s) from_b[s] = at_or_zero(b, p, first_col + s * kAcross, k, n);
#pragma unroll
    for (int r = 0; r < kThreadM; ++r) {
#pragma unroll
      for (int s = 0; s < kThreadN; ++s) acc[r][s] += from_a[r] * from_b[s];
    }
  }

#pragma unroll
  for (int r = 0; r < kThreadM; ++r) {
#pragma unroll
    for (int s = 0; s < kThreadN; ++s) {
      const int row = first_row + r, col = first_col + s * kAcross;
      if (row < m && col < n) c[static_cast<std::int64_t>(row) * n + col] = acc[r][s];
    }
  }
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_register_only(const float* a, const float* b, float* c, int m, int n, int k,
                                cudaStream_t stream) {
  constexpr int kTileM = 128, kTileN = 128, kThreadM = 8, kThreadN = 8;
  constexpr int kThreads = kTileM * kTileN / (kThreadM * kThreadN);
  sgemm_register_only_kernel<kTileM, kTileN, kThreadM, kThreadN>
      <<<tile_count<kTileM, kTileN>(m, n), kThreads, 0, stream>>>(a, b, c, m, n, k);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::sgemm
