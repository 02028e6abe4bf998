// q_outer: the loops change places, as in FlashAttention-2: queries outside, keys inside.
//
// A block takes 32 queries and lets the keys and values of the head pass by. The state stays in
// registers from the first tile to the last, and there are as many blocks as tiles of queries: work
// for all SMs. A warp has queries of its own, so it never waits for another to finish a softmax. A
// causal block ends at its diagonal: tiles beyond are never loaded. What is still wrong: a thread
// loads five vectors from shared memory for 16 multiply-adds.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "07_flash_attention/attention/kit/shared_tile.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace attention {

template <int kD, bool kCausal>
__global__ void __launch_bounds__(SharedTile<kD>::kThreads)
    attention_q_outer_kernel(Tensors<float> t, int n_q, int n_k, float scale) {
  // The last tiles of a causal head have the most to do: they start first.
  using Tile = SharedTile<kD>;
  extern __shared__ float4 shared[];
  Tile& tile = *reinterpret_cast<Tile*>(shared);
  const int row = threadIdx.x / Tile::kRowThreads, member = threadIdx.x % Tile::kRowThreads;
  const int tiles = kit::divide_up(n_q, Tile::kTileM);
  const std::int64_t head = blockIdx.x / tiles;
  const int first_row = (tiles - 1 - static_cast<int>(blockIdx.x) % tiles) * Tile::kTileM;
  const float* k = t.k + head * n_k * kD;
  const float* v = t.v + head * n_k * kD;
  const int query = first_row + row;
  const int visible = visible_keys<kCausal>(query, n_q, n_k);
  const int last_row = min(n_q, first_row + Tile::kTileM) - 1;
  const int keys = visible_keys<kCausal>(last_row, n_q, n_k);  // that anybody here sees

  // The keys and values pass by.
  load_tile<Tile>(tile.q, t.q + head * n_q * kD, first_row, n_q);
  RowState<kD> state = {-INFINITY, 0, {}};
  for (int first_key = 0; first_key < keys; first_key += Tile::kTileN) {
    load_tile<Tile>(tile.k, k, first_key, n_k);
    load_tile<Tile>(tile.v, v, first_key, n_k);
    __syncthreads();
    add_tile(tile, state, visible - first_key, scale);
    __syncthreads();  // k and v may be written again
  }

  // The state is written once.
  if (query >= n_q) return;
  const std::int64_t at = head * n_q + query;
  const float factor = state.sum > 0 ? 1 / state.sum : 0.0f;
  for (int i = 0; i < Tile::kThreadCols; ++i) {
    t.o[at * kD + member + Tile::kRowThreads * i] = state.o[i] * factor;
  }
  if (member == 0) t.lse[at] = state.row_max + logf(state.sum);
}

// Device pointers; shapes as Shape says.
inline void q_outer(const Shape& shape, const Tensors<float>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    using Tile = SharedTile<decltype(head_dim)::value>;
    const auto kernel = attention_q_outer_kernel<head_dim, causal>;
    const int blocks = static_cast<int>(shape.all_heads()) * kit::divide_up(n_q, Tile::kTileM);
    kit::allow_shared(kernel, sizeof(Tile));
    kernel<<<blocks, Tile::kThreads, sizeof(Tile), stream>>>(t, n_q, n_k, shape.scale());
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace attention
