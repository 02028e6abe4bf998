// What a block is, and parts: what some of the keys leave of a query, and how parts become a whole.
//
// A part is the softmax over its own keys alone: O, divided by its own sum, and the log-sum-exp of
// its own scores. Nothing else is needed to merge it with others: the sum of a part's weights is
// 2^lse2, so its O counts 2^lse2 in the mean of all. It is the same whether the parts are those of
// a block's warps in shared memory, or those of many blocks in global memory.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "07_flash_attention/decode/shape.hpp"
#include "07_flash_attention/head_dim.cuh"

namespace decode {

constexpr int kWarps = 4, kThreads = 32 * kWarps;  // of a block

// Calls launch(std::integral_constant<int, d>(), std::integral_constant<int, queries>()), where
// `queries` is how many queries a thread keeps in registers: 1, 4 or 8. A group of 3 has one to
// spare, which costs products and no bytes; a group of 20 has three shares.
template <class Launch>
void with_group(const Shape& shape, Launch launch) {
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    if (shape.group() == 1) return launch(head_dim, std::integral_constant<int, 1>());
    if (shape.group() <= 4) return launch(head_dim, std::integral_constant<int, 4>());
    return launch(head_dim, std::integral_constant<int, 8>());
  });
}

// What each warp of a block leaves in shared memory.
template <int kD, int kQueries>
struct WarpParts {
  float o[kWarps][kQueries][kD], lse2[kWarps][kQueries];

  // A warp's part, by the first of its teams.
  template <class Team>
  __device__ void store(const Team& team) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane >= kD / 8) return;
#pragma unroll
    for (int g = 0; g < kQueries; ++g) {
#pragma unroll
      for (int i = 0; i < 8; ++i) o[warp][g][8 * lane + i] = team.o[g][i] * team.factor(g);
      if (lane == 0) lse2[warp][g] = team.lse2(g);
    }
  }
};

struct Merged {
  float o, lse2;
};

// One element of `count` parts of a query: the elements are o_pitch floats apart, the log-sum-exps
// lse_pitch. Always in the same order: the same bits in every run.
__device__ inline Merged merge_parts(const float* o, int o_pitch, const float* lse2, int lse_pitch,
                                     int count) {
  float largest = -INFINITY, sum = 0, value = 0;
#pragma unroll 8  // loads that do not wait for each other
  for (int i = 0; i < count; ++i) largest = fmaxf(largest, lse2[i * lse_pitch]);
  if (largest == -INFINITY) return {0, -INFINITY};  // no keys anywhere
#pragma unroll 8
  for (int i = 0; i < count; ++i) {
    const float weight = exp2f(lse2[i * lse_pitch] - largest);
    sum += weight;
    value += weight * o[i * o_pitch];
  }
  return {value / sum, largest + log2f(sum)};
}

// The block's part of element i of a share: row i / kD, column i % kD.
template <int kD, int kQueries>
__device__ Merged merge_warps(const WarpParts<kD, kQueries>& parts, int i) {
  const int row = i / kD;
  return merge_parts(&parts.o[0][row][i % kD], kQueries * kD, &parts.lse2[0][row], kQueries,
                     kWarps);
}

// Element i of a share is known.
template <int kD, class T>
__device__ void store_result(const Tensors<T>& t, const Share& share, int i, const Merged& m) {
  t.o[share.first_row * kD + i] = T(m.o);
  if (i % kD == 0) t.lse[share.first_row + i / kD] = kLn2 * m.lse2;
}

}  // namespace decode
