// Rung 5, kv_outer: tiles in shared memory, so that 32 queries share what is loaded. This is the
// loop order of the first FlashAttention: keys and values outside, queries inside.
//
// A block takes a head. It loads 32 keys and values once, and lets all queries of the head pass by,
// 32 at a time; each brings the state that rung 4 kept in registers (largest, sum, output) from
// global memory and takes it back. What is still wrong: that state makes as many trips as there are
// tiles of keys, and a block a head leaves most SMs without work.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "07_flash_attention/attention/launch.cuh"
#include "07_flash_attention/attention/shape.hpp"
#include "07_flash_attention/attention/tile.cuh"
#include "07_flash_attention/attention/workspace.cuh"
#include "common/cuda_check.cuh"

// largest and sum: one float for each query of each head. The state of the outputs is in t.o.
template <int kD, bool kCausal>
__global__ void __launch_bounds__(kTileThreads)
    attention_kv_outer_kernel(Tensors<float> t, float* largest, float* sum, int n_q, int n_k,
                              float scale) {
  extern __shared__ float4 shared[];
  Tile<kD>& tile = *reinterpret_cast<Tile<kD>*>(shared);
  const int row = threadIdx.x / kTeam, member = threadIdx.x % kTeam;
  const std::int64_t head = blockIdx.x;
  const float* q = t.q + head * n_q * kD;
  const float* k = t.k + head * n_k * kD;
  const float* v = t.v + head * n_k * kD;

  for (int first_key = 0; first_key < n_k; first_key += kTileKeys) {
    load_tile<kD>(tile.k, k, first_key, n_k);
    load_tile<kD>(tile.v, v, first_key, n_k);
    const bool is_first = first_key == 0, is_last = first_key + kTileKeys >= n_k;
    for (int first_row = 0; first_row < n_q; first_row += kTileRows) {
      load_tile<kD>(tile.q, q, first_row, n_q);
      __syncthreads();
      const int query = first_row + row;
      const std::int64_t at = head * n_q + query;
      RowState<kD> state = {-INFINITY, 0, {}};
      if (query < n_q && !is_first) {
        state.largest = largest[at];
        state.sum = sum[at];
        for (int i = 0; i < Tile<kD>::kTeamCols; ++i) {
          state.o[i] = t.o[at * kD + member + kTeam * i];
        }
      }
      add_tile<kD>(tile, state, visible_keys<kCausal>(query, n_q, n_k) - first_key, scale);
      __syncthreads();  // q, and in the end k and v, may be written again
      if (query >= n_q) continue;
      const float factor = !is_last ? 1.0f : state.sum > 0 ? 1 / state.sum : 0.0f;
      for (int i = 0; i < Tile<kD>::kTeamCols; ++i) {
        t.o[at * kD + member + kTeam * i] = state.o[i] * factor;
      }
      if (member > 0) continue;
      largest[at] = state.largest;
      sum[at] = state.sum;
      if (is_last) t.lse[at] = state.largest + logf(state.sum);
    }
  }
}

// Device pointers; shapes as AttentionShape says. Takes two floats a query from the workspace.
inline void attention_kv_outer(const AttentionShape& shape, const Tensors<float>& t,
                               Workspace& workspace, cudaStream_t stream) {
  float* largest = workspace.get<float>(2 * shape.rows());
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    const auto kernel = attention_kv_outer_kernel<head_dim, causal>;
    constexpr int kShared = sizeof(Tile<decltype(head_dim)::value>);
    allow_shared(kernel, kShared);
    kernel<<<static_cast<int>(shape.all_heads()), kTileThreads, kShared, stream>>>(
        t, largest, largest + shape.rows(), n_q, n_k, shape.scale());
    CUDA_CHECK(cudaGetLastError());
  });
}
