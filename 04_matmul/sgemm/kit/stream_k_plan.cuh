// Stream-K: which tiles are computed as a whole, and which are shared by all blocks.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/grouped_tiles.cuh"
#include "04_matmul/kit/tile_origin.cuh"
#include "common/kit/check.cuh"

namespace matmul::sgemm {

// A tile's k tiles from `begin` on, `count` of them.
struct SharedTile {
  int tile;
  int begin, count;
};

// The first `whole` tiles are computed as a whole. The k tiles of all others, T::kTileK products
// each, make one long row, cut into `parts` equal parts, one for each block. 0 parts: no tile is
// shared.
struct StreamKPlan {
  int whole, parts;
  int k_tiles;          // of a tile
  std::int64_t shared;  // k tiles of all shared tiles

  // The first k tile of a part, counted from the first shared tile. It ends where the next begins.
  __host__ __device__ std::int64_t begin(int part) const { return shared * part / parts; }
  // What of the shared k tiles from `first` on, up to `last`, lies in one tile.
  __device__ SharedTile tile_at(std::int64_t first, std::int64_t last) const {
    const int begin = static_cast<int>(first % k_tiles);
    return {whole + static_cast<int>(first / k_tiles), begin,
            static_cast<int>(min(std::int64_t{k_tiles - begin}, last - first))};
  }
};

// The tiles of the last wave are shared if that is worth it: setting C to zero and adding to it
// take about as long as 10 k tiles of the whole chip.
template <class T>
StreamKPlan plan_stream_k(std::int64_t m, std::int64_t n, std::int64_t k, int multiprocessors) {
  const int tiles = tile_count<T::kTileM, T::kTileN>(m, n), left = tiles % multiprocessors;
  const int k_tiles = divide_up(k, T::kTileK);
  const std::int64_t idle = std::int64_t{multiprocessors - left} * k_tiles;
  if (left == 0 || idle < 10 * multiprocessors) return {tiles, 0, k_tiles, 0};
  return {tiles - left, multiprocessors, k_tiles, std::int64_t{left} * k_tiles};
}

// Sets C to zero, from the first row of the group on in which the shared tiles begin; whole tiles
// are stored later.
template <class T>
void clear_shared_tiles(float* c, int m, int n, const StreamKPlan& plan, cudaStream_t stream) {
  const int group = plan.whole / (kGroupRows * divide_up(n, T::kTileN));
  const std::int64_t row = std::int64_t{group} * kGroupRows * T::kTileM;
  CUDA_CHECK(cudaMemsetAsync(c + row * n, 0, sizeof(float) * (m - row) * n, stream));
}

}  // namespace matmul::sgemm
