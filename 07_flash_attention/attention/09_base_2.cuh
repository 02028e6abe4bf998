// base_2: less work around the two products.
//
// Exponentials are taken in base 2, which is what the hardware has; the factor log2(e) is one with
// the scale, and both go into one multiply-add per score. Only tiles that touch the diagonal or the
// end of the keys are masked. And the sum of the weights is put together once, at the end: until
// then each lane has that of its own keys. What is still wrong: while a tile is being loaded,
// nobody computes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/attention/kit/base_2.cuh"
#include "07_flash_attention/attention/kit/register_tile.cuh"
#include "07_flash_attention/attention/kit/shared_tile.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace attention {

template <class Tile, bool kCausal>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    attention_base_2_kernel(Tensors<float> t, int n_q, int n_k, float scale) {
  // The last tiles of a causal head have the most to do: they start first.
  extern __shared__ float4 shared[];
  auto& tile = *reinterpret_cast<typename Tile::Shared*>(shared);
  const int tiles = kit::divide_up(n_q, Tile::kTileM);
  const std::int64_t head = blockIdx.x / tiles;
  const int first_row = (tiles - 1 - static_cast<int>(blockIdx.x) % tiles) * Tile::kTileM;
  const int last_row = min(n_q, first_row + Tile::kTileM) - 1;
  const int keys = visible_keys<kCausal>(last_row, n_q, n_k);
  const float* k = t.k + head * n_k * Tile::kD;
  const float* v = t.v + head * n_k * Tile::kD;

  load_tile<Tile>(tile.q, t.q + head * n_q * Tile::kD, first_row, n_q);
  RegisterState<Tile> state;
  for (int first_key = 0; first_key < keys; first_key += Tile::kTileN) {
    load_tile<Tile>(tile.k, k, first_key, n_k);
    load_tile<Tile>(tile.v, v, first_key, n_k);
    __syncthreads();

    // Scores; hidden are those past the end of the keys or beyond the diagonal.
    float score[Tile::kThreadM][Tile::kThreadN] = {};
    multiply_qk<Tile>(tile, score);
    const int inside = n_k - first_key;
    const int first_visible = first_row + 1 + n_k - n_q - first_key;
    if (inside < Tile::kTileN || (kCausal && first_visible < Tile::kTileN)) {
      mask_scores<Tile, kCausal>(score, first_visible, inside);
    }

    // The softmax of the tile, and its weighted values.
    update_softmax<Tile>(tile, state, score, scale);
    multiply_pv<Tile>(tile, state);
    __syncthreads();  // k and v may be written again
  }
  store_rows(state, t.o + head * n_q * Tile::kD, t.lse + head * n_q, first_row, n_q);
}

// Device pointers; shapes as Shape says.
inline void base_2(const Shape& shape, const Tensors<float>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    with_register_tile<head_dim>([&](auto tile) {
      using Tile = decltype(tile);
      // (`causal` itself, inside of a second lambda, is more than CUDA 12.0 bears.)
      const auto kernel = attention_base_2_kernel<Tile, decltype(causal)::value>;
      const int blocks = static_cast<int>(shape.all_heads()) * kit::divide_up(n_q, Tile::kTileM);
      kit::allow_shared(kernel, sizeof(typename Tile::Shared));
      kernel<<<blocks, Tile::kThreads, sizeof(typename Tile::Shared), stream>>>(
          t, n_q, n_k, kLog2E * shape.scale());
      CUDA_CHECK(cudaGetLastError());
    });
  });
}

}  // namespace attention
