// A product of matrices for many heads, in fp32 arithmetic, 32 x 32 elements per block.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace backward {

constexpr int kProductTile = 32, kProductThreads = 256;
using ProductTile = float[kProductTile][kProductTile + 1];

// c (rows x cols) of each of `heads` heads = a b, summed over `summed` heads of a and b. `sharing`
// neighbouring heads of a have one b.
struct Product {
  std::int64_t heads;
  int rows, cols, depth, summed, sharing;
};

// Copies the 32 x 32 elements from (first_row, first_col) on of a matrix; past its edges all is 0.
// kTransposed: it lies transposed in memory. Lanes run along rows as they lie there.
template <bool kTransposed, class E>
__device__ void load_product_tile(ProductTile& to, const E* m, int first_row, int first_col,
                                  int rows, int cols) {
  for (int y = threadIdx.x / 32; y < kProductTile; y += 8) {
    const int r = kTransposed ? threadIdx.x % 32 : y, c = kTransposed ? y : threadIdx.x % 32;
    const int row = first_row + r, col = first_col + c;
    const auto at = kTransposed ? std::int64_t{col} * rows + row : std::int64_t{row} * cols + col;
    to[r][c] = row < rows && col < cols ? static_cast<float>(m[at]) : 0.0f;
  }
}

// kTransposed: the matrix lies transposed, a as depth x rows, b as cols x depth.
template <bool kTransposedA, bool kTransposedB, class A, class B, class C>
__global__ void __launch_bounds__(kProductThreads)
    product_kernel(const A* a, const B* b, C* c, Product p) {
  __shared__ ProductTile tile_a, tile_b;
  // Blocks go through the tiles of c row by row, head by head.
  const int row_tiles = kit::divide_up(p.rows, kProductTile);
  const int col_tiles = kit::divide_up(p.cols, kProductTile);
  const std::int64_t head = blockIdx.x / col_tiles / row_tiles;
  const int first_row = static_cast<int>(blockIdx.x / col_tiles % row_tiles) * kProductTile;
  const int first_col = static_cast<int>(blockIdx.x % col_tiles) * kProductTile;
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;

  // A thread has one column of the tile, and rows eight apart.
  float sum[kProductTile / 8] = {};
  for (std::int64_t h = head * p.summed; h < (head + 1) * p.summed; ++h) {
    const A* a_head = a + h * p.rows * p.depth;
    const B* b_head = b + h / p.sharing * p.depth * p.cols;
    for (int k = 0; k < p.depth; k += kProductTile) {
      load_product_tile<kTransposedA>(tile_a, a_head, first_row, k, p.rows, p.depth);
      load_product_tile<kTransposedB>(tile_b, b_head, k, first_col, p.depth, p.cols);
      __syncthreads();
      for (int i = 0; i < kProductTile; ++i) {
        for (int r = 0; r < kProductTile / 8; ++r) sum[r] += tile_a[y + 8 * r][i] * tile_b[i][x];
      }
      __syncthreads();  // the tiles may be written again
    }
  }

  for (int r = 0; r < kProductTile / 8; ++r) {
    const int row = first_row + y + 8 * r, col = first_col + x;
    if (row < p.rows && col < p.cols) c[(head * p.rows + row) * p.cols + col] = C(sum[r]);
  }
}

// Device pointers.
template <bool kTransposedA, bool kTransposedB, class A, class B, class C>
void multiply(const A* a, const B* b, C* c, const Product& p, cudaStream_t stream) {
  const auto blocks =
      p.heads * kit::divide_up(p.rows, kProductTile) * kit::divide_up(p.cols, kProductTile);
  const auto kernel = product_kernel<kTransposedA, kTransposedB, A, B, C>;
  kernel<<<static_cast<unsigned>(blocks), kProductThreads, 0, stream>>>(a, b, c, p);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace backward
