// tiled: what a block reads, it reads once and shares.
//
// A block of 32 x 32 threads needs 32 rows of A and 32 columns of B. It walks along them one k tile
// of 32 after the other: each thread brings one element of either matrix into shared memory, a
// barrier, 32 products from there, a barrier. A block reads each element once from global memory
// instead of 32 times. Past an edge the tiles hold zeros, so no size is special and no thread
// leaves early: it would be missed at the barrier. What is still wrong: each multiply-add still
// needs two loads, now from shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/kit/edges.cuh"
#include "common/kit/check.cuh"

namespace matmul::sgemm {

template <int kTile>
__global__ void __launch_bounds__(kTile* kTile)
    sgemm_tiled_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const TileOrigin tile = tile_of_block<kTile, kTile>(n);
  const int y = threadIdx.y, x = threadIdx.x;
  const int row = tile.row + y, col = tile.col + x;
  float sum = 0;
  for (int p = 0; p < k; p += kTile) {
    tile_a[y][x] = at_or_zero(a, row, p + x, m, k);
    tile_b[y][x] = at_or_zero(b, p + y, col, k, n);
    __syncthreads();  // the tiles are complete
    for (int q = 0; q < kTile; ++q) sum += tile_a[y][q] * tile_b[q][x];
    __syncthreads();  // nobody needs them any more
  }
  if (row < m && col < n) c[static_cast<std::int64_t>(row) * n + col] = sum;
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_tiled(const float* a, const float* b, float* c, int m, int n, int k,
                        cudaStream_t stream) {
  constexpr int kTile = 32;
  const dim3 block(kTile, kTile);
  sgemm_tiled_kernel<kTile><<<tile_count<kTile, kTile>(m, n), block, 0, stream>>>(a, b, c, m, n, k);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::sgemm
