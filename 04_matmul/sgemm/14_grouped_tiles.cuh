// grouped_tiles: tiles that are computed at the same time lie together in C.
//
// Row by row, the 132 tiles of one wave of a wide C are a part of one row of tiles: they share
// their rows of A, but no columns of B. In groups of 8 rows of tiles, gone through column by
// column, they are 8 x 16.5: what they read stays in the L2 cache and is read from memory less
// often. What is still wrong: when the tiles are fewer than the SMs, or a few more, most of the
// chip is idle.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "04_matmul/kit/grouped_tiles.cuh"
#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/kit/copy_async.cuh"
#include "04_matmul/sgemm/kit/edges.cuh"
#include "04_matmul/sgemm/kit/thread_tile.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace matmul::sgemm {

// acc = the tile of C. The loop of multistage, as it is there.
template <class T, bool kVectorsA, bool kVectorsB>
__device__ __forceinline__ void multiply_whole_tile(const float* a, const float* b, int m, int n,
                                                    int k, TileOrigin tile, ThreadTile<T> mine,
                                                    float (&acc)[T::kThreadM][T::kThreadN]) {
  extern __shared__ float4 shared[];
  float* const stages = reinterpret_cast<float*>(shared);
  const auto after = [](int stage) { return stage == 2 * T::kStage ? 0 : stage + T::kStage; };

  // Two of the three stages are filled ahead.
  const int k_tiles = divide_up(k, T::kTileK);
  TileCopy<T, kVectorsA, kVectorsB> copy(a, b, m, n, k, 0, tile);
  copy.template issue<true>(stages, k - (k_tiles - 1) * T::kTileK);
  copy.store_a();
  if (k_tiles > 1) {
    copy.template issue<false>(stages + T::kStage, T::kTileK);
    copy.store_a();
  }
  __pipeline_wait_prior(0);
  __syncthreads();

  Operands<T> operands[2];
  int stage = 0,
      free = 2 * T::kStage;  // floats from `stages`: the one in use, and the next to fill
  operands[0].load(stages, 0, mine);
#pragma unroll 1
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    // Nobody has read the free stage since the barrier of the k tile before.
    const bool more = k_tile + 2 < k_tiles;
    if (more) copy.template issue<false>(stages + free, T::kTileK);

#pragma unroll
    for (int q = 0; q < T::kTileK; ++q) {
      if (q == T::kTileK - 1) {
        if (more) copy.store_a();
        __pipeline_wait_prior(0);  // issued at the beginning of this k tile
        __syncthreads();           // the next stages are complete, and this one is free
        if (k_tile + 1 < k_tiles) stage = after(stage);
        free = after(free);
      }
      operands[(q + 1) % 2].load(stages + stage, (q + 1) % T::kTileK, mine);
      operands[q % 2].multiply(acc);
    }
  }
}

template <class T, bool kVectorsA, bool kVectorsB>
__global__ void __launch_bounds__(T::kThreads, T::kMinBlocksPerSm)
    sgemm_grouped_tiles_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  // This block's tile, in groups of 8 rows of tiles, and this thread's part of it.
  const TileOrigin tile = grouped_tile<T::kTileM, T::kTileN>(m, n);
  const ThreadTile<T> mine;
  float acc[T::kThreadM][T::kThreadN] = {};

  multiply_whole_tile<T, kVectorsA, kVectorsB>(a, b, m, n, k, tile, mine, acc);

  // Four neighbours of C at a time.
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
  constexpr int kSharedBytes = 3 * T::kStage * sizeof(float);
  with_vectors(a, k, b, c, n, [&](auto vectors_a, auto vectors_b) {
    const auto kernel = sgemm_grouped_tiles_kernel<T, vectors_a, vectors_b>;
    kit::allow_shared(kernel, kSharedBytes);
    kernel<<<tile_count<T::kTileM, T::kTileN>(m, n), T::kThreads, kSharedBytes, stream>>>(a, b, c,
                                                                                          m, n, k);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace matmul::sgemm
