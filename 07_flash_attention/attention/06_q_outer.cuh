// Rung 6, q_outer: the loops change places, as in FlashAttention-2: queries outside, keys inside.
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

#include "07_flash_attention/attention/launch.cuh"
#include "07_flash_attention/attention/shape.hpp"
#include "07_flash_attention/attention/tile.cuh"
#include "common/cuda_check.cuh"

template <int kD, bool kCausal>
__global__ void __launch_bounds__(kTileThreads)
    attention_q_outer_kernel(Tensors<float> t, int n_q, int n_k, float scale) {
  extern __shared__ float4 shared[];
  Tile<kD>& tile = *reinterpret_cast<Tile<kD>*>(shared);
  const int row = threadIdx.x / kTeam, member = threadIdx.x % kTeam;
  const int tiles = divide_up(n_q, kTileRows);
  const std::int64_t head = blockIdx.x / tiles;
  // The last tiles of a causal head have the most to do: they start first.
  const int first_row = (tiles - 1 - static_cast<int>(blockIdx.x) % tiles) * kTileRows;
  const float* k = t.k + head * n_k * kD;
  const float* v = t.v + head * n_k * kD;
  const int query = first_row + row;
  const int visible = visible_keys<kCausal>(query, n_q, n_k);
  const int last_row = min(n_q, first_row + kTileRows) - 1;
  const int keys = visible_keys<kCausal>(last_row, n_q, n_k);  // that anybody here sees

  load_tile<kD>(tile.q, t.q + head * n_q * kD, first_row, n_q);
  RowState<kD> state = {-INFINITY, 0, {}};
  for (int first_key = 0; first_key < keys; first_key += kTileKeys) {
    load_tile<kD>(tile.k, k, first_key, n_k);
    load_tile<kD>(tile.v, v, first_key, n_k);
    __syncthreads();
    add_tile<kD>(tile, state, visible - first_key, scale);
    __syncthreads();  // k and v may be written again
  }

  if (query >= n_q) return;
  const std::int64_t at = head * n_q + query;
  const float factor = state.sum > 0 ? 1 / state.sum : 0.0f;
  for (int i = 0; i < Tile<kD>::kTeamCols; ++i) {
    t.o[at * kD + member + kTeam * i] = state.o[i] * factor;
  }
  if (member == 0) t.lse[at] = state.largest + logf(state.sum);
}

// Device pointers; shapes as AttentionShape says.
inline void attention_q_outer(const AttentionShape& shape, const Tensors<float>& t,
                              cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  const int blocks = static_cast<int>(shape.all_heads()) * divide_up(n_q, kTileRows);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    const auto kernel = attention_q_outer_kernel<head_dim, causal>;
    constexpr int kShared = sizeof(Tile<decltype(head_dim)::value>);
    allow_shared(kernel, kShared);
    kernel<<<blocks, kTileThreads, kShared, stream>>>(t, n_q, n_k, shape.scale());
    CUDA_CHECK(cudaGetLastError());
  });
}
