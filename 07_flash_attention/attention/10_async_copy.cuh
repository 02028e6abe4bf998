// async_copy: the next tile is in flight while this one is being worked on.
//
// cp.async copies to shared memory without passing through registers, and nobody waits until the
// bytes are needed. No second pair of buffers is needed either: the V tile travels while scores are
// computed, and the next K tile while the weighted values are added up; each takes the room that
// the other half of the work has just left. What is still wrong: fp32 units make the products. The
// tensor cores multiply bf16 sixteen times as fast.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/attention/kit/base_2.cuh"
#include "07_flash_attention/attention/kit/register_tile.cuh"
#include "07_flash_attention/attention/kit/shared_tile.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace attention {

// load_tile() that returns at once. The copies are a group of their own.
template <class Tile, int kCount, int kPitch>
__device__ void issue_rows(float (&to)[kCount][kPitch], const float* from, int first, int rows) {
  for (int i = threadIdx.x; i < kCount * Tile::kD / 4; i += Tile::kThreads) {
    const int row = i / (Tile::kD / 4), col = i % (Tile::kD / 4) * 4;
    if (first + row < rows) {
      __pipeline_memcpy_async(&to[row][col], from + (first + row) * Tile::kD + col, sizeof(float4));
    } else {
      *reinterpret_cast<float4*>(&to[row][col]) = make_float4(0, 0, 0, 0);
    }
  }
  __pipeline_commit();
}

template <class Tile, bool kCausal>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    attention_async_copy_kernel(Tensors<float> t, int n_q, int n_k, float scale) {
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

  // region tiles
  issue_rows<Tile>(tile.k, k, 0, n_k);
  load_tile<Tile>(tile.q, t.q + head * n_q * Tile::kD, first_row, n_q);
  RegisterState<Tile> state;
  for (int first_key = 0; first_key < keys; first_key += Tile::kTileN) {
    __pipeline_wait_prior(0);
    __syncthreads();  // the K tile is here, and everybody is done with the V tile before

    // V travels behind the scores, the next K behind the rest.
    issue_rows<Tile>(tile.v, v, first_key, n_k);
    float score[Tile::kThreadM][Tile::kThreadN] = {};
    multiply_qk<Tile>(tile, score);
    __syncthreads();  // everybody is done with the K tile
    issue_rows<Tile>(tile.k, k, first_key + Tile::kTileN, n_k);

    // Hidden are scores past the end of the keys or beyond the diagonal.
    const int inside = n_k - first_key;
    const int first_visible = first_row + 1 + n_k - n_q - first_key;
    if (inside < Tile::kTileN || (kCausal && first_visible < Tile::kTileN)) {
      mask_scores<Tile, kCausal>(score, first_visible, inside);
    }
    update_softmax<Tile>(tile, state, score, scale);
    __pipeline_wait_prior(1);  // the V tile; the next K tile may still be in flight
    __syncthreads();
    multiply_pv<Tile>(tile, state);
  }
  // endregion
  store_rows(state, t.o + head * n_q * Tile::kD, t.lse + head * n_q, first_row, n_q);
}

// Device pointers; shapes as Shape says.
inline void async_copy(const Shape& shape, const Tensors<float>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    with_register_tile<head_dim>([&](auto tile) {
      using Tile = decltype(tile);
      // (`causal` itself, inside of a second lambda, is more than CUDA 12.0 bears.)
      const auto kernel = attention_async_copy_kernel<Tile, decltype(causal)::value>;
      const int blocks = static_cast<int>(shape.all_heads()) * kit::divide_up(n_q, Tile::kTileM);
      kit::allow_shared(kernel, sizeof(typename Tile::Shared));
      kernel<<<blocks, Tile::kThreads, sizeof(typename Tile::Shared), stream>>>(
          t, n_q, n_k, kLog2E * shape.scale());
      CUDA_CHECK(cudaGetLastError());
    });
  });
}

}  // namespace attention
