// The product of one device where there is no library: on a model GPU.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/tile_origin.cuh"
#include "common/kit/check.cuh"

namespace matmul::sharded {

constexpr int kPlainTile = 16;

// One element of C = A B' per thread, tiles of 16 x 16 in shared memory.
static __global__ void __launch_bounds__(kPlainTile* kPlainTile)
    plain_product_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                         int n, int k) {
  __shared__ float tile_a[kPlainTile][kPlainTile], tile_b[kPlainTile][kPlainTile + 1];
  const TileOrigin tile = tile_of_block<kPlainTile, kPlainTile>(n);
  const int y = static_cast<int>(threadIdx.x) / kPlainTile;
  const int x = static_cast<int>(threadIdx.x) % kPlainTile;
  const auto element = [k](const __nv_bfloat16* of, int row, int rows, int p) {
    const bool inside = row < rows && p < k;
    return inside ? __bfloat162float(of[static_cast<std::int64_t>(row) * k + p]) : 0.0f;
  };

  // Both tiles come row by row; the column of padding keeps the reads of B free of conflicts.
  float sum = 0;
  for (int p = 0; p < k; p += kPlainTile) {
    tile_a[y][x] = element(a, tile.row + y, m, p + x);
    tile_b[y][x] = element(b, tile.col + y, n, p + x);
    __syncthreads();
    for (int q = 0; q < kPlainTile; ++q) sum += tile_a[y][q] * tile_b[x][q];
    __syncthreads();
  }
  if (tile.row + y < m && tile.col + x < n) {
    c[static_cast<std::int64_t>(tile.row + y) * n + tile.col + x] = __float2bfloat16(sum);
  }
}

// C = A B'; A is m x k, B is n x k, C is m x n, dense and row-major. Device pointers; sizes up to
// 2e9, which may be 0.
inline void plain_product(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                          std::int64_t m, std::int64_t n, std::int64_t k, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  plain_product_kernel<<<tile_count<kPlainTile, kPlainTile>(m, n), kPlainTile * kPlainTile, 0,
                         stream>>>(a, b, c, static_cast<int>(m), static_cast<int>(n),
                                   static_cast<int>(k));
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::sharded
