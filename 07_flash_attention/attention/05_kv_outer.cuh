// kv_outer: tiles in shared memory, so that 32 queries share what is loaded. This is the
// loop order of the first FlashAttention: keys and values outside, queries inside.
//
// A block takes a head. It loads 32 keys and values once, and lets all queries of the head pass by,
// 32 at a time; each brings the state that `online` kept in registers (row max, sum, output) from
// global memory and takes it back. What is still wrong: that state makes as many trips as there are
// tiles of keys, and one block per head leaves most SMs without work.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "07_flash_attention/attention/kit/shared_tile.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace attention {

// row_max and sum: one float for each query of each head. The state of the outputs is in t.o.
template <int kD, bool kCausal>
__global__ void __launch_bounds__(SharedTile<kD>::kThreads)
    attention_kv_outer_kernel(Tensors<float> t, float* row_max, float* sum, int n_q, int n_k,
                              float scale) {
  using Tile = SharedTile<kD>;
  extern __shared__ float4 shared[];
  Tile& tile = *reinterpret_cast<Tile*>(shared);
  const int row = threadIdx.x / Tile::kRowThreads, member = threadIdx.x % Tile::kRowThreads;
  const std::int64_t head = blockIdx.x;

  // region tiles
  // K and V are loaded once; for each of their tiles all queries pass by.
  for (int first_key = 0; first_key < n_k; first_key += Tile::kTileN) {
    load_tile<Tile>(tile.k, t.k + head * n_k * kD, first_key, n_k);
    load_tile<Tile>(tile.v, t.v + head * n_k * kD, first_key, n_k);
    const bool is_first = first_key == 0, is_last = first_key + Tile::kTileN >= n_k;
    for (int first_row = 0; first_row < n_q; first_row += Tile::kTileM) {
      load_tile<Tile>(tile.q, t.q + head * n_q * kD, first_row, n_q);
      __syncthreads();

      // The state of this thread's query comes from global memory, but for the first keys.
      const int query = first_row + row;
      const std::int64_t at = head * n_q + query;
      float* const o = t.o + at * kD + member;
      RowState<kD> state = {-INFINITY, 0, {}};
      if (query < n_q && !is_first) {
        state.row_max = row_max[at];
        state.sum = sum[at];
        for (int i = 0; i < Tile::kThreadCols; ++i) state.o[i] = o[Tile::kRowThreads * i];
      }
      add_tile(tile, state, visible_keys<kCausal>(query, n_q, n_k) - first_key, scale);
      __syncthreads();  // q, and in the end k and v, may be written again

      // And goes back: after the last keys as the result.
      if (query >= n_q) continue;
      const float factor = !is_last ? 1.0f : state.sum > 0 ? 1 / state.sum : 0.0f;
      for (int i = 0; i < Tile::kThreadCols; ++i) o[Tile::kRowThreads * i] = state.o[i] * factor;
      if (member > 0) continue;
      row_max[at] = state.row_max;
      sum[at] = state.sum;
      if (is_last) t.lse[at] = state.row_max + logf(state.sum);
    }
  }
  // endregion
}

// Device pointers; shapes as Shape says. state: room for two floats per query, 2 * shape.rows().
inline void kv_outer(const Shape& shape, const Tensors<float>& t, float* state,
                     cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    using Tile = SharedTile<decltype(head_dim)::value>;
    const auto kernel = attention_kv_outer_kernel<head_dim, causal>;
    kit::allow_shared(kernel, sizeof(Tile));
    kernel<<<static_cast<int>(shape.all_heads()), Tile::kThreads, sizeof(Tile), stream>>>(
        t, state, state + shape.rows(), n_q, n_k, shape.scale());
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace attention
