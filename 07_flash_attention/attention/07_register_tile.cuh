// register_tile: a thread computes 8 x 4 scores, and 8 x d / 16 elements of the output.
//
// What a thread loads of K now serves 8 rows, and what it loads of Q 4 keys: 12 vectors for 128
// multiply-adds instead of 5 for 16. An element of V serves 8 rows, too, and a weight d / 16
// columns. A block has 128 queries; 16 lanes share a row, and each of them has 8 rows. What is
// still wrong: V comes element by element, since a thread's columns lie 16 apart.
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
    attention_register_tile_kernel(Tensors<float> t, int n_q, int n_k, float scale) {
  // The last tiles of a causal head have the most to do: they start first.
  constexpr int kD = Tile::kD, kThreadCols = Tile::kThreadCols;
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
  float row_max[Tile::kThreadM], sum[Tile::kThreadM] = {}, o[Tile::kThreadM][kThreadCols] = {};
  for (float& of_row : row_max) of_row = -INFINITY;
  for (int first_key = 0; first_key < keys; first_key += Tile::kTileN) {
    load_tile<Tile>(tile.k, k, first_key, n_k);
    load_tile<Tile>(tile.v, v, first_key, n_k);
    __syncthreads();
    float score[Tile::kThreadM][Tile::kThreadN] = {};
    multiply_qk<Tile>(tile, score);

    // The softmax as before, row by row: a thread has a part of 8 rows now.
#pragma unroll
    for (int r = 0; r < Tile::kThreadM; ++r) {
      const int visible = visible_keys<kCausal>(first_row + lane.row(r), n_q, n_k) - first_key;
      float new_max = row_max[r];
#pragma unroll
      for (int i = 0; i < Tile::kThreadN; ++i) {
        score[r][i] = lane.member + 16 * i < visible ? scale * score[r][i] : -INFINITY;
        new_max = fmaxf(new_max, score[r][i]);
      }
      new_max = over_row<false, 16>(new_max);
      const float shift = new_max == -INFINITY ? 0.0f : new_max;
      const float correction = expf(row_max[r] - shift);
      row_max[r] = new_max;
      float tile_sum = 0;
#pragma unroll
      for (int i = 0; i < Tile::kThreadN; ++i) {
        const float weight = expf(score[r][i] - shift);
        tile.p[lane.row(r)][lane.member + 16 * i] = weight;
        tile_sum += weight;
      }
      sum[r] = sum[r] * correction + over_row<true, 16>(tile_sum);
#pragma unroll
      for (int i = 0; i < kThreadCols; ++i) o[r][i] *= correction;
    }
    __syncwarp();  // the weights of a row stay within its warp

    // region values
    // An outer product for each key: what is loaded once is used 8 times, or d / 16 times.
#pragma unroll 4
    for (int j = 0; j < Tile::kTileN; ++j) {
      float from_v[kThreadCols];
#pragma unroll
      for (int i = 0; i < kThreadCols; ++i) from_v[i] = tile.v[j][lane.member + 16 * i];
#pragma unroll
      for (int r = 0; r < Tile::kThreadM; ++r) {
        const float weight = tile.p[lane.row(r)][j];
#pragma unroll
        for (int i = 0; i < kThreadCols; ++i) o[r][i] += weight * from_v[i];
      }
    }
    // endregion
    __syncthreads();  // k and v may be written again
  }

  // The state is written once.
#pragma unroll
  for (int r = 0; r < Tile::kThreadM; ++r) {
    const int query = first_row + lane.row(r);
    if (query >= n_q) continue;
    const std::int64_t at = head * n_q + query;
    const float factor = sum[r] > 0 ? 1 / sum[r] : 0.0f;
#pragma unroll
    for (int i = 0; i < kThreadCols; ++i) t.o[at * kD + lane.member + 16 * i] = o[r][i] * factor;
    if (lane.member == 0) t.lse[at] = row_max[r] + logf(sum[r]);
  }
}

// Device pointers; shapes as Shape says.
inline void register_tile(const Shape& shape, const Tensors<float>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    with_register_tile<head_dim>([&](auto tile) {
      using Tile = decltype(tile);
      // (`causal` itself, inside of a second lambda, is more than CUDA 12.0 bears.)
      const auto kernel = attention_register_tile_kernel<Tile, decltype(causal)::value>;
      const int blocks = static_cast<int>(shape.all_heads()) * kit::divide_up(n_q, Tile::kTileM);
      kit::allow_shared(kernel, sizeof(typename Tile::Shared));
      kernel<<<blocks, Tile::kThreads, sizeof(typename Tile::Shared), stream>>>(t, n_q, n_k,
                                                                                shape.scale());
      CUDA_CHECK(cudaGetLastError());
    });
  });
}

}  // namespace attention
