// large_tile: 16 x 8 accumulators per thread, a tile of 128 x 256 for 8 warps.
//
// A thread loads 24 values for 128 multiply-adds, where it loaded 16 for 64: a quarter less for
// each. Global memory is read a quarter less, too. The price: 128 registers of a thread hold
// accumulators, so an SM has room for one block only, and for two warps on each of its four
// schedulers. What is still wrong: when both wait for their operands, nobody multiplies.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/kit/copy_async.cuh"
#include "04_matmul/sgemm/kit/edges.cuh"
#include "04_matmul/sgemm/kit/thread_tile.cuh"
#include "common/kit/check.cuh"

namespace matmul::sgemm {

template <class T, bool kVectors>
__global__ void __launch_bounds__(T::kThreads)
    sgemm_large_tile_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ alignas(16) float tile_a[2][T::kTileK][T::kPitchA], tile_b[2][T::kTileK][T::kTileN];
  const TileOrigin tile = tile_of_block<T::kTileM, T::kTileN>(n);
  const ThreadTile<T> mine;
  const int t = threadIdx.x;

  // Issues this thread's part of the k tile that begins at p.
  const auto copy_tiles = [&](int stage, int p) {
#pragma unroll
    for (int i = t; i < T::kTileM * T::kTileK; i += T::kThreads) {
      const int row = tile.row + i / T::kTileK, col = p + i % T::kTileK;
      copy_async<4>(&tile_a[stage][i % T::kTileK][i / T::kTileK],
                    a + static_cast<std::int64_t>(row) * k + col, row < m && col < k);
    }
#pragma unroll
    for (int i = t; i < T::kTileK * T::kTileN / 4; i += T::kThreads) {
      const int row = i / (T::kTileN / 4), col = i % (T::kTileN / 4) * 4;
      copy_four_async<kVectors>(&tile_b[stage][row][col], b, p + row, tile.col + col, k, n);
    }
    __pipeline_commit();
  };

  float acc[T::kThreadM][T::kThreadN] = {};
  copy_tiles(0, 0);
  for (int p = 0, stage = 0; p < k; p += T::kTileK, stage ^= 1) {
    __pipeline_wait_prior(0);  // this thread's part of the k tile has landed,
    __syncthreads();           // everybody's has, and nobody reads the other stage any more

    // Filled while this stage is multiplied.
    if (p + T::kTileK < k) copy_tiles(stage ^ 1, p + T::kTileK);

      // 24 values for 128 multiply-adds.
#pragma unroll
    for (int q = 0; q < T::kTileK; ++q) {
      float from_a[T::kThreadM], from_b[T::kThreadN];
#pragma unroll
      for (int r = 0; r < T::kThreadM; r += 4) {
        load_four(&from_a[r], &tile_a[stage][q][mine.row_of(r)]);
      }
#pragma unroll
      for (int s = 0; s < T::kThreadN; s += 4) {
        load_four(&from_b[s], &tile_b[stage][q][mine.col_of(s)]);
      }
#pragma unroll
      for (int r = 0; r < T::kThreadM; ++r) {
#pragma unroll
        for (int s = 0; s < T::kThreadN; ++s) acc[r][s] += from_a[r] * from_b[s];
      }
    }
    // No barrier: the other stage is filled next, and this one is read on.
  }

#pragma unroll
  for (int r = 0; r < T::kThreadM; ++r) {
#pragma unroll
    for (int s = 0; s < T::kThreadN; s += 4) {
      store_four<kVectors>(c, tile.row + mine.row_of(r), tile.col + mine.col_of(s), m, n,
                           &acc[r][s]);
    }
  }
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_large_tile(const float* a, const float* b, float* c, int m, int n, int k,
                             cudaStream_t stream) {
  using T = TileShape<128, 256, 8, 64, 64>;
  with_vectors(a, k, b, c, n, [&](auto, auto vectors) {
    sgemm_large_tile_kernel<T, vectors>
        <<<tile_count<T::kTileM, T::kTileN>(m, n), T::kThreads, 0, stream>>>(a, b, c, m, n, k);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace matmul::sgemm
