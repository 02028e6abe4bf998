// Rung 10, write_order: the same tiles, taken in another order.
//
// Blocks that run at the same time have neighbouring numbers. So far they were neighbours along a
// row of the input: reads ran through long stretches of memory, writes were 256-byte pieces far
// apart. Now they follow a row of the output. The likely reason of the gain: reads that come in
// pieces can wait in many queues at once; writes meet in the L2 cache and go to memory in longer
// runs if their neighbours arrive soon. What is left: sizes that are not multiples of 4.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "03_coalescing/transpose/kit/tiles.cuh"
#include "03_coalescing/transpose/kit/vector_tile.cuh"
#include "common/kit/check.cuh"

namespace transpose {

template <int kTile>
__global__ void __launch_bounds__(kTile* kTile / 16)
    transpose_write_order_kernel(const float* __restrict__ in, float* __restrict__ out,
                                 std::int64_t rows, std::int64_t cols) {
  transpose_tile_of_vectors<kTile>(in, out, rows, cols, tile_down_column(rows, kTile, kTile));
}

// out[c][r] = in[r][c], in: rows x cols. Device pointers, row-major, dense.
inline void transpose_write_order(const float* in, float* out, std::int64_t rows, std::int64_t cols,
                                  cudaStream_t stream) {
  require_aligned_rows(in, out, rows, cols);
  constexpr int kTile = 64;
  const std::int64_t grid = tile_count(rows, cols, kTile, kTile);
  transpose_write_order_kernel<kTile><<<grid, kTile * kTile / 16, 0, stream>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace transpose
