// Rung 3, stored: the five products one after the other, each a kernel, all matrices in memory.
//
// This is how a framework goes backward without a kernel of its own for it. S = Q K^T and
// dP = dO V^T are n_q x n_k each; a row kernel makes them P and dS in place; three more products
// read those. Tiles in shared memory, as in chapter 04, so that a product is not wholly lost
// before it begins. What is still wrong: two matrices of n_q n_k floats a head, each written and
// read several times: at 16384 tokens 2 GB a head, for 8 MB of input.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace backward {

constexpr int kProductTile = 32, kProductThreads = 256;

// c (rows x cols) of each of `heads` heads = factor a b, summed over `summed` heads of a and b.
// `sharing` neighbouring heads of a have one b.
struct Product {
  std::int64_t heads;
  int rows, cols, depth, summed, sharing;
  float factor;
};

// kTurned: the matrix lies transposed, a as depth x rows, b as cols x depth.
template <bool kTurnedA, bool kTurnedB, class A, class B, class C>
__global__ void __launch_bounds__(kProductThreads)
    stored_product_kernel(const A* a, const B* b, C* c, Product p) {
  __shared__ float tile_a[kProductTile][kProductTile + 1], tile_b[kProductTile][kProductTile + 1];
  // Blocks go through the tiles of c row by row, head by head.
  const int row_tiles = kit::divide_up(p.rows, kProductTile);
  const int col_tiles = kit::divide_up(p.cols, kProductTile);
  const std::int64_t head = blockIdx.x / col_tiles / row_tiles;
  const int first_row = static_cast<int>(blockIdx.x / col_tiles % row_tiles) * kProductTile;
  const int first_col = static_cast<int>(blockIdx.x % col_tiles) * kProductTile;
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  // Past the edges all is 0.
  const auto element = [](const auto* m, int row, int col, int rows, int cols) {
    return row < rows && col < cols ? static_cast<float>(m[std::int64_t{row} * cols + col]) : 0.0f;
  };

  float sum[kProductTile / 8] = {};
  for (std::int64_t h = head * p.summed; h < (head + 1) * p.summed; ++h) {
    const A* a_head = a + h * p.rows * p.depth;
    const B* b_head = b + h / p.sharing * p.depth * p.cols;
    for (int k = 0; k < p.depth; k += kProductTile) {
      // Lanes run along rows as they lie in memory; a turned matrix turns on its way.
      for (int r = y; r < kProductTile; r += 8) {
        if (kTurnedA) {
          tile_a[x][r] = element(a_head, k + r, first_row + x, p.depth, p.rows);
        } else {
          tile_a[r][x] = element(a_head, first_row + r, k + x, p.rows, p.depth);
        }
        if (kTurnedB) {
          tile_b[x][r] = element(b_head, first_col + r, k + x, p.cols, p.depth);
        } else {
          tile_b[r][x] = element(b_head, k + r, first_col + x, p.depth, p.cols);
        }
      }
      __syncthreads();
      for (int i = 0; i < kProductTile; ++i) {
        for (int r = 0; r < kProductTile / 8; ++r) sum[r] += tile_a[y + 8 * r][i] * tile_b[i][x];
      }
      __syncthreads();  // the tiles may be written again
    }
  }

  for (int r = 0; r < kProductTile / 8; ++r) {
    const int row = first_row + y + 8 * r, col = first_col + x;
    if (row >= p.rows || col >= p.cols) continue;
    c[(head * p.rows + row) * p.cols + col] = C(p.factor * sum[r]);
  }
}

// A warp a row: scores s become weights, their gradients dp those of the scores.
template <class T>
__global__ void __launch_bounds__(256)
    stored_rows_kernel(Tensors<T> t, float* s, float* dp, Shape shape) {
  const std::int64_t row = std::int64_t{blockIdx.x} * 8 + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= shape.rows()) return;
  float mean = 0;
  for (std::int64_t i = row * shape.d + lane; i < (row + 1) * shape.d; i += 32) {
    mean += static_cast<float>(t.d_o[i]) * static_cast<float>(t.o[i]);
  }
  for (int step = 16; step > 0; step /= 2) mean += __shfl_xor_sync(0xffffffff, mean, step);
  const int visible = shape.visible(static_cast<int>(row % shape.n_q));
  for (int j = lane; j < shape.n_k; j += 32) {
    const std::int64_t at = row * shape.n_k + j;
    const float p = j < visible ? expf(s[at] - t.lse[row]) : 0.0f;
    s[at] = p;
    dp[at] = p * (dp[at] - mean);
  }
}

// Device pointers. scratch: stored_scratch(shape) floats, P and dS.
inline std::int64_t stored_scratch(const Shape& shape) { return 2 * shape.rows() * shape.n_k; }
template <class T>
void stored(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  float *p = scratch, *ds = scratch + shape.rows() * shape.n_k;
  const auto run = [&](auto kernel, const auto* a, const auto* b, auto* c, const Product& product) {
    const std::int64_t tiles = std::int64_t{kit::divide_up(product.rows, kProductTile)} *
                               kit::divide_up(product.cols, kProductTile);
    const auto blocks = static_cast<unsigned>(product.heads * tiles);
    kernel<<<blocks, kProductThreads, 0, stream>>>(a, b, c, product);
    CUDA_CHECK(cudaGetLastError());
  };
  const int n_q = shape.n_q, n_k = shape.n_k, d = shape.d, group = shape.group();
  const Product s{shape.all_heads(), n_q, n_k, d, 1, group, shape.scale()};
  const Product dp{shape.all_heads(), n_q, n_k, d, 1, group, 1};
  run(stored_product_kernel<false, true, T, T, float>, t.q, t.k, p, s);
  run(stored_product_kernel<false, true, T, T, float>, t.d_o, t.v, ds, dp);
  stored_rows_kernel<<<kit::divide_up(shape.rows(), 8), 256, 0, stream>>>(t, p, ds, shape);
  CUDA_CHECK(cudaGetLastError());
  const Product dv{shape.all_kv_heads(), n_k, d, n_q, group, 1, 1};
  const Product dk{shape.all_kv_heads(), n_k, d, n_q, group, 1, shape.scale()};
  const Product dq{shape.all_heads(), n_q, d, n_k, 1, group, shape.scale()};
  run(stored_product_kernel<true, false, float, T, T>, p, t.d_o, t.dv, dv);
  run(stored_product_kernel<true, false, float, T, T>, ds, t.q, t.dk, dk);
  run(stored_product_kernel<false, false, float, T, T>, ds, t.k, t.dq, dq);
}

}  // namespace backward
