// recomputed: no matrix of all pairs. Blocks add their parts of dQ up with atomics.
//
// `one_matrix` stored dS for one product only, dQ = dS K. But the block has a tile of dS and its
// keys in shared memory: it can multiply them there. What it gets is its keys' part of dQ, and
// every block of keys has one. So blocks add theirs to an fp32 copy of dQ in memory (atomicAdd),
// and a last kernel rounds that to the type of dQ. What is still wrong: n_q d additions for every
// 32 keys, in an order that changes from run to run, and the last bits of dQ with it; and fp32
// units make the products.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_accum.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/kit/tile.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace backward {

template <class T, int kD>
__global__ void __launch_bounds__(kTileThreads) recomputed_kernel(Arguments<T> args) {
  const auto& shape = args.shape;
  using Tile = FloatTile<kD>;
  extern __shared__ float shared[];
  auto& tile = *reinterpret_cast<Tile*>(shared);
  const int own = threadIdx.x / kTeam, member = threadIdx.x % kTeam;
  // A step: a tile of queries of one of the heads that share the block's keys.
  const TileRange<Tile> steps(shape);
  const int count = steps.count();
  // The block's keys and values stay to the end.
  load_tile(tile.k, args.k + steps.kv_head * shape.n_k * kD, steps.first_key, shape.n_k);
  load_tile(tile.v, args.v + steps.kv_head * shape.n_k * kD, steps.first_key, shape.n_k);

  float dk[Tile::kCols] = {}, dv[Tile::kCols] = {};
  for (int step = 0; step < count; ++step) {
    const std::int64_t head = steps.head(step), first = head * shape.n_q;
    const int first_row = steps.first_row(step);
    load_tile(tile.q, args.q + first * kD, first_row, shape.n_q);
    load_tile(tile.d_o, args.d_o + first * kD, first_row, shape.n_q);
    __syncthreads();
    weigh_tile(tile, shape, args.rows, head, first_row, steps.first_key);
    __syncthreads();
    // A thread owns a key in the sums over queries, and a query in the sum over keys.
    add_product<true>(dv, tile.p, tile.d_o);
    add_product<true>(dk, tile.ds, tile.q);
    // region dq
    float dq[Tile::kCols] = {};
    add_product<false>(dq, tile.ds, tile.k);
    float* to = args.rows.dq_accum + (head * args.rows.pitch + first_row + own) * kD;
    for (int i = 0; i < Tile::kCols; ++i) {
      atomicAdd(&to[member + kTeam * i], dq[i]);
    }
    // endregion
    __syncthreads();  // the tile may be written again
  }

  if (steps.first_key + own >= shape.n_k) return;
  const std::int64_t key = steps.kv_head * shape.n_k + steps.first_key + own;
  store_row(args.dk + key * kD, dk, shape.scale());
  store_row(args.dv + key * kD, dv, 1);
}

// Device pointers. scratch: row_stats_and_dq_scratch(shape) floats.
template <class T, int kD>
void recomputed(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  using Tile = FloatTile<kD>;
  constexpr int kShared = sizeof(Tile);
  const auto kernel = recomputed_kernel<T, kD>;
  kit::allow_shared(kernel, kShared);
  const Arguments<T> args = prepare(shape, t, scratch, true, stream);
  const auto blocks = shape.all_kv_heads() * TileRange<Tile>::key_tiles(shape);
  kernel<<<static_cast<unsigned>(blocks), kTileThreads, kShared, stream>>>(args);
  CUDA_CHECK(cudaGetLastError());
  finish_dq(args, stream);
}

}  // namespace backward
