// register_double_buffer: operands are loaded one k ahead.
//
// A thread has two sets of operands. While it multiplies one, the other is in flight from shared
// memory, so no product waits for the load just before it. At the end of a k tile, the first
// operands of the next one are needed before the last products are done: there stands the barrier,
// and after it the stage that has just been left is filled again. What is still wrong: the copies
// stand between the barrier and the products, each with its address and its test for the edge, and
// have only the time of 8 k to arrive.
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
    sgemm_register_double_buffer_kernel(const float* a, const float* b, float* c, int m, int n,
                                        int k) {
  __shared__ alignas(16) float stages[2][T::kStage];
  const TileOrigin tile = tile_of_block<T::kTileM, T::kTileN>(n);
  const ThreadTile<T> mine;
  const int t = threadIdx.x;

  // Issues this thread's part of the k tile that begins at p.
  const auto copy_tiles = [&](float* stage, int p) {
#pragma unroll
    for (int i = t; i < T::kTileM * T::kTileK; i += T::kThreads) {
      const int row = tile.row + i / T::kTileK, col = p + i % T::kTileK;
      copy_async<4>(stage + i % T::kTileK * T::kPitchA + i / T::kTileK,
                    a + static_cast<std::int64_t>(row) * k + col, row < m && col < k);
    }
    float* const tile_b = stage + T::kTileK * T::kPitchA;
#pragma unroll
    for (int i = t; i < T::kTileK * T::kTileN / 4; i += T::kThreads) {
      const int row = i / (T::kTileN / 4), col = i % (T::kTileN / 4) * 4;
      copy_four_async<kVectors>(tile_b + 4 * i, b, p + row, tile.col + col, k, n);
    }
    __pipeline_commit();
  };

  // region loop
  // Both stages are filled, and the first operands loaded.
  float acc[T::kThreadM][T::kThreadN] = {};
  Operands<T> operands[2];
  copy_tiles(stages[0], 0);
  if (T::kTileK < k) copy_tiles(stages[1], T::kTileK);
  __pipeline_wait_prior(0);
  __syncthreads();
  operands[0].load(stages[0], 0, mine);

  for (int p = 0, stage = 0; p < k; p += T::kTileK, stage ^= 1) {
    // Past the last k tile nothing is to come: its own operands are loaded once more.
    const int next = p + T::kTileK < k ? stage ^ 1 : stage;
#pragma unroll
    for (int q = 0; q < T::kTileK; ++q) {
      if (q == T::kTileK - 1) {
        __pipeline_wait_prior(0);  // the next k tile has landed,
        __syncthreads();           // everybody's part of it, and nobody reads this one any more
        if (p + 2 * T::kTileK < k) copy_tiles(stages[stage], p + 2 * T::kTileK);
      }
      const bool is_last = q == T::kTileK - 1;
      operands[(q + 1) % 2].load(stages[is_last ? next : stage], (q + 1) % T::kTileK, mine);
      operands[q % 2].multiply(acc);
    }
  }
  // endregion

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
inline void sgemm_register_double_buffer(const float* a, const float* b, float* c, int m, int n,
                                         int k, cudaStream_t stream) {
  using T = TileShape<128, 256, 8, 64, 64>;
  with_vectors(a, k, b, c, n, [&](auto, auto vectors) {
    sgemm_register_double_buffer_kernel<T, vectors>
        <<<tile_count<T::kTileM, T::kTileN>(m, n), T::kThreads, 0, stream>>>(a, b, c, m, n, k);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace matmul::sgemm
