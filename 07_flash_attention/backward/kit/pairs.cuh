// What is done to a tile of pairs of a query and a key between the products, and storing what the
// products have added up for keys.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/row_facts.cuh"
#include "07_flash_attention/backward/kit/steps.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/ptx/mma.cuh"

namespace backward {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// A tile of pairs is an accumulator of mma or wgmma with keys as rows: register i of lane l belongs
// to key l / 4 + 8 (i / 2 % 2) of its warp's, and to this query of the tile.
__device__ __forceinline__ int query_of_register(int i) {
  return 8 * (i / 4) + 2 * (threadIdx.x % 4) + i % 2;
}

// Scores become weights, P = exp(S - lse). lse2: of the tile's queries.
template <int kCount>
__device__ __forceinline__ void to_weights(float (&s)[kCount], const float* lse2,
                                           const Shape& shape) {
  const float scale2 = kLog2E * shape.scale();
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    s[i] = ptx::ex2(fmaf(s[i], scale2, -lse2[query_of_register(i)]));
  }
}

// Weights of pairs that do not see each other become 0. first_row: the tile's first query; key:
// this lane's first.
template <int kCount>
__device__ __forceinline__ void hide_pairs(float (&p)[kCount], const Shape& shape, int first_row,
                                           int key) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (!shape.sees(first_row + query_of_register(i), key + 8 * (i / 2 % 2))) p[i] = 0;
  }
}

// Both: the scores of a step become weights. key: this lane's first.
template <class Tile, int kCount>
__device__ __forceinline__ void weigh(float (&s)[kCount], const float* lse2, const Shape& shape,
                                      const Steps<Tile>& steps, int first_row, int key) {
  to_weights(s, lse2, shape);
  const bool all_seen = shape.sees(first_row, steps.first_key + Tile::kKeys - 1);
  if (!all_seen) hide_pairs(s, shape, first_row, key);
}

// dP becomes dS = P (dP - D). mean: D of the tile's queries.
template <int kCount>
__device__ __forceinline__ void to_score_gradients(float (&dp)[kCount], const float (&p)[kCount],
                                                   const float* mean) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) dp[i] = p[i] * (dp[i] - mean[query_of_register(i)]);
}

// Rounded to T as operand A of the next product, 16 queries at a time: the layouts match, so no
// lane needs anything of another.
template <class T, int kCount>
__device__ __forceinline__ void to_operand(const float (&c)[kCount],
                                           std::uint32_t (&a)[kCount / 8][4]) {
#pragma unroll
  for (int i = 0; i < kCount; i += 2) a[i / 8][i / 2 % 4] = ptx::pack<T>(c[i], c[i + 1]);
}

// Writes factor c, an accumulator whose rows are keys, to rows `key` and `key` + 8 of `to`, a
// matrix of n rows of kD, from column `col` on. Two neighbouring elements at a time.
template <int kD, class T, int kCount>
__device__ __forceinline__ void store_keys(T* to, const float (&c)[kCount], int key, int n, int col,
                                           float factor) {
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    const int row = key + 8 * (i / 2 % 2);
    if (row >= n) continue;
    *reinterpret_cast<std::uint32_t*>(to + row * kD + col + query_of_register(i)) =
        ptx::pack<T>(factor * c[i], factor * c[i + 1]);
  }
}
#endif

}  // namespace backward
