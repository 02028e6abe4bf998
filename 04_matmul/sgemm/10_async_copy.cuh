// async_copy: the next tiles travel while the present ones are multiplied.
//
// There are two stages, buffers for a k tile of either matrix. cp.async (sm_80) copies from global
// to shared memory in the background, past the registers: a thread issues its part of the next
// copies, multiplies the present tiles, and then waits for the copies to land. One barrier a k tile
// is enough. A is copied float by float, each to its place in the transposed tile: no alignment is
// needed, and rows padded by 4 floats spread their stores over all banks. What is still wrong:
// multiplications still wait for the loads from shared memory just before them.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/kit/copy_async.cuh"
#include "04_matmul/sgemm/kit/edges.cuh"
#include "common/kit/check.cuh"

namespace matmul::sgemm {

template <int kTileM, int kTileN, int kTileK, int kThreadM, int kThreadN, bool kVectors>
__global__ void __launch_bounds__(kTileM* kTileN / (kThreadM * kThreadN))
    sgemm_async_copy_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  constexpr int kThreads = kTileM * kTileN / (kThreadM * kThreadN);
  constexpr int kWarpM = 8 * kThreadM, kWarpN = 4 * kThreadN;
  static_assert(kTileM * kTileK == 4 * kThreads, "each thread copies four elements of A's tile");
  static_assert(kTileK * kTileN == 4 * kThreads, "each thread copies four elements of B's tile");
  __shared__ alignas(16) float tile_a[2][kTileK][kTileM + 4], tile_b[2][kTileK][kTileN];
  const TileOrigin tile = tile_of_block<kTileM, kTileN>(n);
  const int t = threadIdx.x;
  const int b_row = t / (kTileN / 4), b_col = t % (kTileN / 4) * 4;
  const int warp = t / 32, lane = t % 32;
  const int y = warp / (kTileN / kWarpN) * kWarpM + lane / 4 * 4;
  const int x = warp % (kTileN / kWarpN) * kWarpN + lane % 4 * 4;
  const auto row_of = [](int r) { return r / 4 * (kWarpM / 2) + r % 4; };
  const auto col_of = [](int s) { return s / 4 * (kWarpN / 2) + s % 4; };

  // region copy
  // Issues this thread's part of the k tile that begins at p.
  const auto copy_tiles = [&](int stage, int p) {
#pragma unroll
    for (int i = t; i < kTileM * kTileK; i += kThreads) {
      const int row = tile.row + i / kTileK, col = p + i % kTileK;
      copy_async<4>(&tile_a[stage][i % kTileK][i / kTileK],
                    a + static_cast<std::int64_t>(row) * k + col, row < m && col < k);
    }
    copy_four_async<kVectors>(&tile_b[stage][b_row][b_col], b, p + b_row, tile.col + b_col, k, n);
    __pipeline_commit();
  };

  float acc[kThreadM][kThreadN] = {};
  copy_tiles(0, 0);
  for (int p = 0, stage = 0; p < k; p += kTileK, stage ^= 1) {
    __pipeline_wait_prior(0);  // this thread's part of the k tile has landed,
    __syncthreads();           // everybody's has, and nobody reads the other stage any more

    // Filled while this stage is multiplied.
    if (p + kTileK < k) copy_tiles(stage ^ 1, p + kTileK);
      // endregion

#pragma unroll
    for (int q = 0; q < kTileK; ++q) {
      float from_a[kThreadM], from_b[kThreadN];
#pragma unroll
      for (int r = 0; r < kThreadM; r += 4) {
        load_four(&from_a[r], &tile_a[stage][q][y + row_of(r)]);
      }
#pragma unroll
      for (int s = 0; s < kThreadN; s += 4) {
        load_four(&from_b[s], &tile_b[stage][q][x + col_of(s)]);
      }
#pragma unroll
      for (int r = 0; r < kThreadM; ++r) {
#pragma unroll
        for (int s = 0; s < kThreadN; ++s) acc[r][s] += from_a[r] * from_b[s];
      }
    }
    // No barrier: the other stage is filled next, and this one is read on.
  }

#pragma unroll
  for (int r = 0; r < kThreadM; ++r) {
#pragma unroll
    for (int s = 0; s < kThreadN; s += 4) {
      store_four<kVectors>(c, tile.row + y + row_of(r), tile.col + x + col_of(s), m, n, &acc[r][s]);
    }
  }
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_async_copy(const float* a, const float* b, float* c, int m, int n, int k,
                             cudaStream_t stream) {
  constexpr int kTileM = 128, kTileN = 128, kTileK = 8, kThreadM = 8, kThreadN = 8;
  constexpr int kThreads = kTileM * kTileN / (kThreadM * kThreadN);
  with_vectors(a, k, b, c, n, [&](auto, auto vectors) {
    sgemm_async_copy_kernel<kTileM, kTileN, kTileK, kThreadM, kThreadN, vectors>
        <<<tile_count<kTileM, kTileN>(m, n), kThreads, 0, stream>>>(a, b, c, m, n, k);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace matmul::sgemm
