// vectorized: V comes 16 bytes at a time, and so does the output leave.
//
// A thread's columns of the output are no longer 16 apart but four neighbours, and the next four 64
// further. So one load brings four elements of V, and the loop takes four keys at a time, whose
// weights are one load as well. That is 12 vectors for 128 multiply-adds at d = 64, as for the
// scores. What is still wrong: around the products every score is scaled, compared with a mask and
// given to expf, and every row is summed over its lanes at each tile.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "07_flash_attention/attention/kit/register_tile.cuh"
#include "07_flash_attention/attention/kit/shared_tile.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace attention {

template <class Tile, bool kCausal>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    attention_vectorized_kernel(Tensors<float> t, int n_q, int n_k, float scale) {
  // The last tiles of a causal head have the most to do: they start first.
  constexpr int kD = Tile::kD;
  extern __shared__ float4 shared[];
  auto& tile = *reinterpret_cast<typename Tile::Shared*>(shared);
  const Lane<Tile> lane{};
  const int tiles = kit::divide_up(n_q, Tile::kTileM);
  const std::int64_t head = blockIdx.x / tiles;
  const int first_row = (tiles - 1 - static_cast<int>(blockIdx.x) % tiles) * Tile::kTileM;
  const float* k = t.k + head * n_k * kD;
  const float* v = t.v + head * n_k * kD;
  const int last_row = min(n_q, first_row + Tile::kTileM) - 1;
  const int keys = visible_keys<kCausal>(last_row, n_q, n_k);  // that anybody here sees

  // The keys and values pass by.
  load_tile<Tile>(tile.q, t.q + head * n_q * kD, first_row, n_q);
  RegisterState<Tile> state;
  for (int first_key = 0; first_key < keys; first_key += Tile::kTileN) {
    load_tile<Tile>(tile.k, k, first_key, n_k);
    load_tile<Tile>(tile.v, v, first_key, n_k);
    __syncthreads();
    float score[Tile::kThreadM][Tile::kThreadN] = {};
    multiply_qk<Tile>(tile, score);

    // The softmax of `register_tile`. What is new is which columns of the output are whose.
#pragma unroll
    for (int r = 0; r < Tile::kThreadM; ++r) {
      const int visible = visible_keys<kCausal>(first_row + lane.row(r), n_q, n_k) - first_key;
      float row_max = state.row_max[r];
#pragma unroll
      for (int i = 0; i < Tile::kThreadN; ++i) {
        score[r][i] = lane.member + 16 * i < visible ? scale * score[r][i] : -INFINITY;
        row_max = fmaxf(row_max, score[r][i]);
      }
      row_max = over_row<false, 16>(row_max);
      const float shift = row_max == -INFINITY ? 0.0f : row_max;
      const float correction = expf(state.row_max[r] - shift);
      state.row_max[r] = row_max;
      state.sum[r] *= correction;
      rescale(state.o[r], correction);
      float sum = 0;
#pragma unroll
      for (int i = 0; i < Tile::kThreadN; ++i) {
        const float weight = expf(score[r][i] - shift);
        tile.p[lane.row(r)][lane.member + 16 * i] = weight;
        sum += weight;
      }
      state.sum[r] += over_row<true, 16>(sum);
    }
    __syncwarp();  // the weights of a row stay within its warp

    // Four keys and four columns at a time.
    multiply_pv<Tile>(tile, state);
    __syncthreads();  // k and v may be written again
  }

  // The state is written once.
#pragma unroll
  for (int r = 0; r < Tile::kThreadM; ++r) {
    const int query = first_row + lane.row(r);
    if (query >= n_q) continue;
    const std::int64_t at = head * n_q + query;
    const float factor = state.sum[r] > 0 ? 1 / state.sum[r] : 0.0f;
    store_row(state.o[r], factor, t.o + at * kD + 4 * lane.member);
    if (lane.member == 0) t.lse[at] = state.row_max[r] + logf(state.sum[r]);
  }
}

// Device pointers; shapes as Shape says.
inline void vectorized(const Shape& shape, const Tensors<float>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    with_register_tile<head_dim>([&](auto tile) {
      using Tile = decltype(tile);
      // (`causal` itself, inside of a second lambda, is more than CUDA 12.0 bears.)
      const auto kernel = attention_vectorized_kernel<Tile, decltype(causal)::value>;
      const int blocks = static_cast<int>(shape.all_heads()) * kit::divide_up(n_q, Tile::kTileM);
      kit::allow_shared(kernel, sizeof(typename Tile::Shared));
      kernel<<<blocks, Tile::kThreads, sizeof(typename Tile::Shared), stream>>>(t, n_q, n_k,
                                                                                shape.scale());
      CUDA_CHECK(cudaGetLastError());
    });
  });
}

}  // namespace attention
