// tile_by_size: a small C is cut into smaller tiles.
//
// A C of 1024 x 1024 has 32 tiles of 128 x 256, for 132 SMs. Smaller tiles give every SM work, at
// the price of more loads for each multiply-add. Which is best is estimated from the waves in which
// the SMs get through all tiles: the heuristic of a library in its simplest form. The kernel is
// that of the rung `grouped_tiles`. What is still wrong: where even the smallest tiles are fewer
// than the SMs, the others have nothing to do.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

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
    sgemm_tile_by_size_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
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

enum class TileSize { kLarge, kSmall, kTiny };

// The tile with which the busiest SM has the least to do, if small tiles are enough for nearly all
// SMs; otherwise tiny ones. Work is counted in elements of C at the pace of the large tile; the
// small one is 5 % slower (measured on an H200).
inline TileSize choose_tile_size(std::int64_t m, std::int64_t n, int multiprocessors) {
  const auto work_of = [&](auto tile) {
    using T = decltype(tile);
    const int waves = divide_up(tile_count<T::kTileM, T::kTileN>(m, n), multiprocessors);
    return 1.0 * waves * T::kTileM * T::kTileN;
  };
  const int small_tiles = tile_count<SmallTile::kTileM, SmallTile::kTileN>(m, n);
  if (small_tiles < multiprocessors * 9 / 10) return TileSize::kTiny;
  const bool is_large_best = work_of(LargeTile{}) <= 1.05 * work_of(SmallTile{});
  return is_large_best ? TileSize::kLarge : TileSize::kSmall;
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_tile_by_size(const float* a, const float* b, float* c, int m, int n, int k,
                               cudaStream_t stream) {
  const auto launch = [&](auto tile) {
    using T = decltype(tile);
    with_vectors(a, k, b, c, n, [&](auto vectors_a, auto vectors_b) {
      const auto kernel = sgemm_tile_by_size_kernel<T, vectors_a, vectors_b>;
      kit::allow_shared(kernel, kStageBytes<T>);
      kernel<<<tile_count<T::kTileM, T::kTileN>(m, n), T::kThreads, kStageBytes<T>, stream>>>(
          a, b, c, m, n, k);
      CUDA_CHECK(cudaGetLastError());
    });
  };
  switch (choose_tile_size(m, n, kit::multiprocessor_count())) {
    case TileSize::kLarge: return launch(LargeTile{});
    case TileSize::kSmall: return launch(SmallTile{});
    case TileSize::kTiny: return launch(TinyTile{});
  }
}

}  // namespace matmul::sgemm
