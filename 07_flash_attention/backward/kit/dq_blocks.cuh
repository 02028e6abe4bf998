// dQ in fp32 in an order of its own, for rungs that add to it in large pieces. A warpgroup's part
// of a tile, 64 queries and Tile::kDqCols columns, is one piece of kDqPart floats without gaps; in
// it, four registers of a thread lie side by side, and after them those of the next thread. So a
// warp writes 512 bytes in a row, wherever its lanes' elements belong. The last kernel puts them
// where they belong.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

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

// Where element (row, col) of a part lies in it: as wgmma spreads its accumulator over threads.
__host__ __device__ constexpr int place_in_dq_part(int row, int col) {
  const int thread = row / 16 * 32 + row % 8 * 4 + col % 8 / 2;
  return (col / 8 * 128 + thread) * 4 + row / 8 % 2 * 2 + col % 2;
}

// A thread two neighbouring elements.
template <class Tile>
__global__ void __launch_bounds__(kRowThreads)
    finish_dq_blocks_kernel(RowFacts rows, typename Tile::Element* dq, std::int64_t count, int n_q,
                            float scale) {
  constexpr int kD = Tile::kD, kQueries = Tile::kQueries;
  const std::int64_t i = 2 * (std::int64_t{blockIdx.x} * kRowThreads + threadIdx.x);
  if (i >= count) return;
  const std::int64_t row = i / kD;
  const int query = static_cast<int>(row % n_q), col = static_cast<int>(i % kD);
  const int w = kQueries == 128 ? query % 128 / 64 : col / Tile::kDqCols;
  const float* part =
      rows.dq_sum + (row / n_q * rows.pitch + query / kQueries * kQueries) * kD + w * Tile::kDqPart;
  const float* from = part + place_in_dq_part(query % 64, col % Tile::kDqCols);
  dq[i] = typename Tile::Element(scale * from[0]);
  dq[i + 1] = typename Tile::Element(scale * from[1]);
}

// dQ = dq_sum / sqrt(d)
template <class Tile>
void finish_dq_blocks(const Shape& shape, const Tensors<typename Tile::Element>& t,
                      const RowFacts& rows, cudaStream_t stream) {
  const std::int64_t count = shape.rows() * shape.d;
  const int blocks = kit::divide_up(count / 2, kRowThreads);
  finish_dq_blocks_kernel<Tile>
      <<<blocks, kRowThreads, 0, stream>>>(rows, t.dq, count, shape.n_q, shape.scale());
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace backward
