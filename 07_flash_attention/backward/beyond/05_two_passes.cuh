// two_passes: a kernel for dK and dV, one for dQ; no atomics.
//
// The first is `recomputed` of the main road, without dQ. In the second a block takes 32
// queries and lets the keys pass by, so that dQ stays in registers, too. The price: S and dP are
// computed in both, seven products instead of five, and it is slower than recomputed. What it buys:
// no atomics, no fp32 copy of dQ, and the same bits in every run.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/kit/tile.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace backward {

template <class T, int kD>
__global__ void __launch_bounds__(kTileThreads) two_passes_keys_kernel(Arguments<T> args) {
  const auto& shape = args.shape;
  extern __shared__ float shared[];
  auto& tile = *reinterpret_cast<FloatTile<kD>*>(shared);
  const int own = threadIdx.x / kTeam;
  const int key_tiles = kit::divide_up(shape.n_k, kTileRows);
  const std::int64_t kv_head = blockIdx.x / key_tiles;
  const int first_key = static_cast<int>(blockIdx.x % key_tiles) * kTileRows;
  // The block's keys and values stay to the end.
  load_tile(tile.k, args.k + kv_head * shape.n_k * kD, first_key, shape.n_k);
  load_tile(tile.v, args.v + kv_head * shape.n_k * kD, first_key, shape.n_k);

  float dk[FloatTile<kD>::kCols] = {}, dv[FloatTile<kD>::kCols] = {};
  for (int g = 0; g < shape.group(); ++g) {
    const std::int64_t head = kv_head * shape.group() + g, first = head * shape.n_q;
    // Queries before first_row see none of these keys.
    int first_row = shape.first_row(first_key) / kTileRows * kTileRows;
    for (; first_row < shape.n_q; first_row += kTileRows) {
      load_tile(tile.q, args.q + first * kD, first_row, shape.n_q);
      load_tile(tile.d_o, args.d_o + first * kD, first_row, shape.n_q);
      __syncthreads();
      weigh_tile(tile, shape, args.rows, head, first_row, first_key);
      __syncthreads();
      add_product<true>(dv, tile.p, tile.d_o);
      add_product<true>(dk, tile.ds, tile.q);
      __syncthreads();  // the tile may be written again
    }
  }

  if (first_key + own >= shape.n_k) return;
  const std::int64_t key = kv_head * shape.n_k + first_key + own;
  store_row(args.dk + key * kD, dk, shape.scale());
  store_row(args.dv + key * kD, dv, 1);
}

template <class T, int kD>
__global__ void __launch_bounds__(kTileThreads) two_passes_queries_kernel(Arguments<T> args) {
  const auto& shape = args.shape;
  extern __shared__ float shared[];
  auto& tile = *reinterpret_cast<FloatTile<kD>*>(shared);
  const int own = threadIdx.x / kTeam;
  const int row_tiles = kit::divide_up(shape.n_q, kTileRows);
  const std::int64_t head = blockIdx.x / row_tiles, kv_head = head / shape.group();
  const int first_row = static_cast<int>(blockIdx.x % row_tiles) * kTileRows;
  const std::int64_t first = head * shape.n_q;
  // Here the queries stay, and keys pass by.
  load_tile(tile.q, args.q + first * kD, first_row, shape.n_q);
  load_tile(tile.d_o, args.d_o + first * kD, first_row, shape.n_q);

  float dq[FloatTile<kD>::kCols] = {};
  const int keys = shape.visible(min(first_row + kTileRows, shape.n_q) - 1);  // that any row sees
  for (int first_key = 0; first_key < keys; first_key += kTileRows) {
    load_tile(tile.k, args.k + kv_head * shape.n_k * kD, first_key, shape.n_k);
    load_tile(tile.v, args.v + kv_head * shape.n_k * kD, first_key, shape.n_k);
    __syncthreads();
    weigh_tile(tile, shape, args.rows, head, first_row, first_key);
    __syncthreads();
    add_product<false>(dq, tile.ds, tile.k);
    __syncthreads();  // the tile may be written again
  }
  if (first_row + own >= shape.n_q) return;
  store_row(args.dq + (first + first_row + own) * kD, dq, shape.scale());
}

// Device pointers. scratch: row_stats_scratch(shape) floats.
template <class T, int kD>
void two_passes(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  const Arguments<T> args = prepare(shape, t, scratch, false, stream);
  constexpr int kShared = sizeof(FloatTile<kD>);
  const auto run = [&](auto kernel, std::int64_t heads, int n) {
    kit::allow_shared(kernel, kShared);
    const auto blocks = static_cast<unsigned>(heads * kit::divide_up(n, kTileRows));
    kernel<<<blocks, kTileThreads, kShared, stream>>>(args);
    CUDA_CHECK(cudaGetLastError());
  };
  run(two_passes_keys_kernel<T, kD>, shape.all_kv_heads(), shape.n_k);
  run(two_passes_queries_kernel<T, kD>, shape.all_heads(), shape.n_q);
}

}  // namespace backward
