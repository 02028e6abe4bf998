// Rung 7, register_tile: a thread computes 8 x 4 scores, and 8 x 8 elements of the output.
//
// What a thread loads from shared memory now serves eight times, or four: an operand of 16 bytes
// for 10 to 16 multiply-adds instead of 3. Exponentials are taken in base 2, which is what the
// hardware has; the factor log2(e) is one with the scale. Only tiles that touch the diagonal or the
// end of the keys are masked, and the sum of the weights is put together once, at the end. What is
// still wrong: while a tile is being loaded, nobody computes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/attention/kit/register_tile.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace attention {

template <class T, bool kCausal>
__global__ void __launch_bounds__(T::kThreads, T::kBlocks)
    attention_register_tile_kernel(Tensors<float> t, int n_q, int n_k, float scale) {
  // The last tiles of a causal head have the most to do: they start first.
  extern __shared__ float4 shared[];
  auto& tile = *reinterpret_cast<typename T::Shared*>(shared);
  const int tiles = kit::divide_up(n_q, T::kTileM);
  const std::int64_t head = blockIdx.x / tiles;
  const int first_row = (tiles - 1 - static_cast<int>(blockIdx.x) % tiles) * T::kTileM;
  const int last_row = min(n_q, first_row + T::kTileM) - 1;
  const int keys = visible_keys<kCausal>(last_row, n_q, n_k);
  const float* k = t.k + head * n_k * T::kD;
  const float* v = t.v + head * n_k * T::kD;

  load_rows<T>(tile.q, t.q + head * n_q * T::kD, first_row, n_q);
  RegisterState<T> state;
  clear(state);
  for (int first_key = 0; first_key < keys; first_key += T::kTileN) {
    load_rows<T>(tile.k, k, first_key, n_k);
    load_rows<T>(tile.v, v, first_key, n_k);
    __syncthreads();

    // Scores; hidden are those past the end of the keys or beyond the diagonal.
    float score[T::kThreadM][T::kThreadN];
    multiply_qk<T>(tile, score);
    const int inside = n_k - first_key;
    const int first_visible = first_row + 1 + n_k - n_q - first_key;
    if (inside < T::kTileN || (kCausal && first_visible < T::kTileN)) {
      mask_scores<T, kCausal>(score, first_visible, inside);
    }

    // The softmax of the tile, and its weighted values.
    update_softmax<T>(tile, state, score, scale);
    multiply_pv<T>(tile, state);
    __syncthreads();  // k and v may be written again
  }
  store_rows(state, t.o + head * n_q * T::kD, t.lse + head * n_q, first_row, n_q);
}

// Device pointers; shapes as Shape says.
inline void register_tile(const Shape& shape, const Tensors<float>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    with_register_tile<head_dim>([&](auto tile) {
      using T = decltype(tile);
      // (`causal` itself, inside of a second lambda, is more than CUDA 12.0 bears.)
      const auto kernel = attention_register_tile_kernel<T, decltype(causal)::value>;
      const int blocks = static_cast<int>(shape.all_heads()) * kit::divide_up(n_q, T::kTileM);
      kit::allow_shared(kernel, sizeof(typename T::Shared));
      kernel<<<blocks, T::kThreads, sizeof(typename T::Shared), stream>>>(t, n_q, n_k,
                                                                          kLog2E * shape.scale());
      CUDA_CHECK(cudaGetLastError());
    });
  });
}

}  // namespace attention
