// dQ in fp32 in an order of its own, for rungs that add to it in large pieces. A warpgroup's part
// of a tile, 64 queries and Tile::kDqCols columns, is one piece of kDqPart floats without gaps; in
// it, four registers of a thread lie side by side, and after them those of the next thread. So a
// warp writes 512 bytes in a row, wherever its lanes' elements belong. The last kernel puts them
// where they belong.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_fragments.cuh"
#include "07_flash_attention/backward/kit/row_facts.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace backward {

// Parts count through the tiles of all heads: two a tile. This is warpgroup w's of the tile that
// begins at `first_row` of a head.
template <class Tile>
__device__ __forceinline__ std::int64_t dq_part_number(const RowFacts& rows, std::int64_t head,
                                                       int first_row, int w) {
  static_assert(2 * Tile::kDqPart == Tile::kQueries * Tile::kD);
  return (head * rows.pitch + first_row) / Tile::kQueries * 2 + w;
}

// Where it lies.
template <class Tile>
__device__ __forceinline__ float* dq_part_of(const RowFacts& rows, std::int64_t head, int first_row,
                                             int w) {
  return rows.dq_sum + dq_part_number<Tile>(rows, head, first_row, w) * Tile::kDqPart;
}

// A block a part.
template <class Tile>
__global__ void __launch_bounds__(kRowThreads)
    finish_dq_blocks_kernel(RowFacts rows, typename Tile::Element* dq, int n_q, float scale) {
  const int tiles = rows.pitch / Tile::kQueries, w = blockIdx.x % 2;  // tiles: of a head
  const std::int64_t head = blockIdx.x / 2 / tiles;
  const int first_row = static_cast<int>(blockIdx.x / 2 % tiles) * Tile::kQueries;
  const float* part = dq_part_of<Tile>(rows, head, first_row, w);
#pragma unroll
  for (int i = threadIdx.x; i < Tile::kDqPart / 16; i += kRowThreads) {
    constexpr int kGroups = Tile::kDqCols / 8;  // of columns; fragments of four warps each
    const int group = i % kGroups, own = i / kGroups % 8, warp = i / kGroups / 8;
    const int row = first_row + Tile::dq_row(w) + 16 * warp, col = Tile::dq_col(w) + 8 * group;
    store_rows<Tile::kD>(dq + head * n_q * Tile::kD, part + (4 * group + warp) * 128, own, row, col,
                         n_q, scale);
  }
}

// dQ = dq_sum / sqrt(d)
template <class Tile>
void finish_dq_blocks(const Shape& shape, const Tensors<typename Tile::Element>& t,
                      const RowFacts& rows, cudaStream_t stream) {
  const auto parts = shape.all_heads() * rows.pitch / Tile::kQueries * 2;
  finish_dq_blocks_kernel<Tile><<<static_cast<unsigned>(parts), kRowThreads, 0, stream>>>(
      rows, t.dq, shape.n_q, shape.scale());
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace backward
