// grouped_tiles: tiles that are computed at the same time lie together in C.
//
// 132 tiles of a C of 4096 x 4096 are, row by row, 8 rows of 16, and by the time the next ones
// begin, these rows of A are done with. For a wider C they are a part of one row, which share no
// columns of B at all. Groups of 8 rows of tiles, gone through column by column, make them 8 x 16.5
// for any C: what they read stays in the L2 cache and is read from memory less often. The loop is
// the rung before's; it is a function of the kit now, since the rungs beyond use it, too. What is
// still wrong: when the tiles are fewer than the SMs, or a few more, most of the chip is idle.
#pragma once

#include <cuda_runtime.h>

#include "04_matmul/kit/grouped_tiles.cuh"
#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/kit/edges.cuh"
#include "04_matmul/sgemm/kit/multiply_tile.cuh"
#include "04_matmul/sgemm/kit/thread_tile.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace matmul::sgemm {

template <class T, bool kVectorsA, bool kVectorsB>
__global__ void __launch_bounds__(T::kThreads, T::kMinBlocksPerSm)
    sgemm_grouped_tiles_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  const TileOrigin tile = grouped_tile<T::kTileM, T::kTileN>(m, n);
  const ThreadTile<T> mine;
  float acc[T::kThreadM][T::kThreadN] = {};
  multiply_tile<T, kVectorsA, kVectorsB>(a, b, m, n, k, 0, k, tile, mine, acc);
#pragma unroll
  for (int r = 0; r < T::kThreadM; ++r) {
#pragma unroll
    for (int s = 0; s < T::kThreadN; s += 4) {
      store_four<kVectorsB>(c, tile.row + mine.row_of(r), tile.col + mine.col_of(s), m, n,
                            &acc[r][s]);
    }
  }
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_grouped_tiles(const float* a, const float* b, float* c, int m, int n, int k,
                                cudaStream_t stream) {
  using T = LargeTile;
  with_vectors(a, k, b, c, n, [&](auto vectors_a, auto vectors_b) {
    const auto kernel = sgemm_grouped_tiles_kernel<T, vectors_a, vectors_b>;
    kit::allow_shared(kernel, kStageBytes<T>);
    kernel<<<tile_count<T::kTileM, T::kTileN>(m, n), T::kThreads, kStageBytes<T>, stream>>>(
        a, b, c, m, n, k);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace matmul::sgemm
