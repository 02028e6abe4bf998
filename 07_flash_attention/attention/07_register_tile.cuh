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

#include "07_flash_attention/attention/launch.cuh"
#include "07_flash_attention/attention/registers.cuh"
#include "07_flash_attention/attention/shape.hpp"
#include "common/cuda_check.cuh"

template <class T, bool kCausal>
__global__ void __launch_bounds__(T::kThreads, T::kBlocks)
    attention_register_tile_kernel(Tensors<float> t, int n_q, int n_k, float scale) {
  extern __shared__ float4 shared[];
  auto& tile = *reinterpret_cast<typename T::Shared*>(shared);
  const int tiles = divide_up(n_q, T::kRows);
  const std::int64_t head = blockIdx.x / tiles;
  const int first_row = (tiles - 1 - static_cast<int>(blockIdx.x) % tiles) * T::kRows;
  const int last_row = min(n_q, first_row + T::kRows) - 1;
  const int keys = visible_keys<kCausal>(last_row, n_q, n_k);
  const float* k = t.k + head * n_k * T::kD;
  const float* v = t.v + head * n_k * T::kD;

  load_rows<T>(tile.q, t.q + head * n_q * T::kD, first_row, n_q);
  RegisterState<T> state;
  clear(state);
  for (int first_key = 0; first_key < keys; first_key += T::kKeys) {
    load_rows<T>(tile.k, k, first_key, n_k);
    load_rows<T>(tile.v, v, first_key, n_k);
    __syncthreads();
    float score[T::kLaneRows][T::kLaneKeys];
    multiply_keys<T>(tile, score);
    const int inside = n_k - first_key;
    const int first_visible = first_row + 1 + n_k - n_q - first_key;
    if (inside < T::kKeys || (kCausal && first_visible < T::kKeys)) {
      hide_keys<T, kCausal>(score, first_visible, inside);
    }
    weigh<T>(tile, state, score, scale);
    multiply_values<T>(tile, state);
    __syncthreads();  // k and v may be written again
  }
  store_rows(state, t.o + head * n_q * T::kD, t.lse + head * n_q, first_row, n_q);
}

// Device pointers; shapes as AttentionShape says.
inline void attention_register_tile(const AttentionShape& shape, const Tensors<float>& t,
                                    cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    with_register_tiling<head_dim>([&](auto tiling) {
      using T = decltype(tiling);
      const auto kernel = attention_register_tile_kernel<T, causal>;
      const int blocks = static_cast<int>(shape.all_heads()) * divide_up(n_q, T::kRows);
      allow_shared(kernel, sizeof(typename T::Shared));
      kernel<<<blocks, T::kThreads, sizeof(typename T::Shared), stream>>>(t, n_q, n_k,
                                                                          kLog2E * shape.scale());
      CUDA_CHECK(cudaGetLastError());
    });
  });
}
