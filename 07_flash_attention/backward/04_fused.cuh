// fused: one kernel makes P and dS; S and dP are never stored.
//
// What a pair needs of its row are two numbers: the log-sum-exp, which the forward pass has stored,
// and D = rowsum(dO O), which a small kernel computes ahead. So the thread that has an element of S
// and the same one of dP in registers makes them an element of P and one of dS, and no kernel goes
// through the matrices a second time. What is still wrong: the matrices are still there, two floats
// for every pair, and each is read by a product or two.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/product.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace backward {

template <class T>
__global__ void __launch_bounds__(kProductThreads)
    fused_kernel(Arguments<T> args, float* p, float* ds) {
  const auto& shape = args.shape;
  __shared__ ProductTile q, k, d_o, v;
  // Blocks go through the tiles of pairs row by row, head by head.
  const int row_tiles = kit::divide_up(shape.n_q, kProductTile);
  const int key_tiles = kit::divide_up(shape.n_k, kProductTile);
  const std::int64_t head = blockIdx.x / key_tiles / row_tiles, first = head * shape.n_q;
  const std::int64_t kv_first = head / shape.group() * shape.n_k;
  const int first_row = static_cast<int>(blockIdx.x / key_tiles % row_tiles) * kProductTile;
  const int first_key = static_cast<int>(blockIdx.x % key_tiles) * kProductTile;
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;

  float s[kProductTile / 8] = {}, dp[kProductTile / 8] = {};
  for (int c = 0; c < shape.d; c += kProductTile) {
    load_product_tile<false>(q, args.q + first * shape.d, first_row, c, shape.n_q, shape.d);
    load_product_tile<false>(d_o, args.d_o + first * shape.d, first_row, c, shape.n_q, shape.d);
    load_product_tile<true>(k, args.k + kv_first * shape.d, c, first_key, shape.d, shape.n_k);
    load_product_tile<true>(v, args.v + kv_first * shape.d, c, first_key, shape.d, shape.n_k);
    __syncthreads();
    for (int i = 0; i < kProductTile; ++i) {
      for (int r = 0; r < kProductTile / 8; ++r) {
        s[r] += q[y + 8 * r][i] * k[i][x];
        dp[r] += d_o[y + 8 * r][i] * v[i][x];
      }
    }
    __syncthreads();  // the tiles may be written again
  }

  // P = exp(S - lse) and dS = P (dP - D) / sqrt(d), 0 where the query does not see the key.
  const float scale = shape.scale();
  for (int r = 0; r < kProductTile / 8; ++r) {
    const int row = first_row + y + 8 * r, key = first_key + x;
    if (row >= shape.n_q || key >= shape.n_k) continue;
    const std::int64_t at = (first + row) * shape.n_k + key, stat = head * args.rows.pitch + row;
    const float s2 = attention::kLog2E * scale * s[r];
    const float weight = shape.sees(row, key) ? exp2f(s2 - args.rows.lse2[stat]) : 0.0f;
    p[at] = weight;
    ds[at] = scale * weight * (dp[r] - args.rows.delta[stat]);
  }
}

// Device pointers. scratch: fused_scratch(shape) floats, P and dS and the log-sum-exp and D of
// rows.
inline std::int64_t fused_scratch(const Shape& shape) {
  return 2 * shape.rows() * shape.n_k + row_stats_scratch(shape);
}
template <class T>
void fused(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  float *p = scratch, *ds = scratch + shape.rows() * shape.n_k;
  const Arguments<T> args = prepare(shape, t, ds + shape.rows() * shape.n_k, false, stream);
  const auto blocks = shape.all_heads() * kit::divide_up(shape.n_q, kProductTile) *
                      kit::divide_up(shape.n_k, kProductTile);
  fused_kernel<<<static_cast<unsigned>(blocks), kProductThreads, 0, stream>>>(args, p, ds);
  CUDA_CHECK(cudaGetLastError());
  const Product keys{shape.all_kv_heads(), shape.n_k, shape.d, shape.n_q, shape.group(), 1};
  const Product queries{shape.all_heads(), shape.n_q, shape.d, shape.n_k, 1, shape.group()};
  multiply<true, false>(p, t.d_o, t.dv, keys, stream);
  multiply<true, false>(ds, t.q, t.dk, keys, stream);
  multiply<false, false>(ds, t.k, t.dq, queries, stream);
}

}  // namespace backward
