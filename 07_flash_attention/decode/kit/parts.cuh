// What a block is, and parts: what some of the keys leave of a query, and how parts become a whole.
//
// A part is the softmax over its own keys alone: O, divided by its own sum, and the log-sum-exp of
// its own scores. Nothing else is needed to merge it with others: the sum of a part's weights is
// 2^lse2, so its O counts 2^lse2 in the mean of all. It is the same whether the parts are those of
// a block's warps in shared memory, those of a cluster's blocks in theirs, or those of many blocks
// in global memory.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "07_flash_attention/decode/shape.hpp"
#include "07_flash_attention/shape.hpp"

namespace decode {

constexpr int kWarps = 4, kThreads = 32 * kWarps;  // of a block

// Calls launch(std::integral_constant<int, d>(), std::integral_constant<int, queries>()), where
// `queries` is how many queries a thread keeps in registers: 1, 4 or 8. A group of 3 has one to
// spare, which costs products and no bytes; a group of 20 has three work tiles.
template <class Launch>
void with_group(const Shape& shape, Launch launch) {
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    if (shape.group() == 1) return launch(head_dim, std::integral_constant<int, 1>());
    if (shape.group() <= 4) return launch(head_dim, std::integral_constant<int, 4>());
    return launch(head_dim, std::integral_constant<int, 8>());
  });
}

// What each warp of a block leaves in shared memory. A row has eight floats more than it needs: a
// warp of TensorRows stores eight rows at once, which then lie in different banks.
template <int kD, int kQueries, int kW = kWarps>
struct alignas(16) WarpParts {
  float o[kW][kQueries][kD + 8], lse2[kW][kQueries];

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

  // All warps' parts of a row, merged by this one, in the place of the first one.
  template <class Merged>
  __device__ void replace(int row, const Merged& merged) {
    merged.o.in(o[0][row]) = merged.o;
    __syncwarp();  // all lanes have read the parts
    if (threadIdx.x % 32 == 0) lse2[0][row] = merged.lse2;
  }
};

// A lane's share of a row that a warp has: the kD / 32 columns from kD / 32 * lane on, which it
// loads and stores at once.
template <class T, int kD>
struct alignas(kD / 32 * sizeof(T) < 16 ? kD / 32 * sizeof(T) : 16) OfLane {
  static constexpr int kCount = kD / 32;
  T x[kCount];

  static __device__ OfLane& in(T* row) { return reinterpret_cast<OfLane*>(row)[threadIdx.x % 32]; }
  static __device__ const OfLane& in(const T* row) {
    return reinterpret_cast<const OfLane*>(row)[threadIdx.x % 32];
  }
};

// A row of O, and its log-sum-exp, which all lanes know.
template <int kD>
struct Merged {
  OfLane<float, kD> o;
  float lse2;
};

// A warp merges `count` parts of a row: o_of(i) is where part i's row of O lies, lse2_of(i) its
// log-sum-exp. Always in the same order: the same bits in every run. Loads of parts do not wait for
// each other, as many as find room in kRegisters registers.
template <int kD, int kRegisters = 16, class OOf, class Lse2Of>
__device__ Merged<kD> merge_parts(int count, OOf o_of, Lse2Of lse2_of) {
  constexpr int kAtOnce = kRegisters / OfLane<float, kD>::kCount;
  const int lane = threadIdx.x % 32;
  const auto lse2_at = [&](int i) { return i < count ? lse2_of(i) : -INFINITY; };
  float lse2 = lse2_at(lane), largest = lse2, sum = 0;
  for (int i = lane + 32; i < count; i += 32) largest = fmaxf(largest, lse2_of(i));
  Merged<kD> merged{{}, -INFINITY};
  for (int first = 0; first < count; first += kAtOnce) {
    OfLane<float, kD> o[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce && first + i < count; ++i) {
      o[i] = OfLane<float, kD>::in(o_of(first + i));
    }
    // While the first rows come: the largest of all parts, which all lanes then know.
    if (first == 0) {
#pragma unroll
      for (int step = 16; step > 0; step /= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, step));
      }
      if (largest == -INFINITY) return merged;  // no keys anywhere
    }
    if (first > 0) lse2 = lse2_at(first + lane);
    // A lane computes the weight of one part; then all lanes together add that part's row.
    const float weight = lane < kAtOnce ? exp2f(lse2 - largest) : 0;
    sum += weight;
#pragma unroll
    for (int i = 0; i < kAtOnce && first + i < count; ++i) {
      const float weight_of_part = __shfl_sync(0xffffffff, weight, i);
#pragma unroll
      for (int c = 0; c < o[i].kCount; ++c) merged.o.x[c] += weight_of_part * o[i].x[c];
    }
  }
  // Each lane has added up the weights of its own parts.
#pragma unroll
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
#pragma unroll
  for (float& x : merged.o.x) x /= sum;
  merged.lse2 = largest + log2f(sum);
  return merged;
}

// The block's part of a row of its work tile.
template <int kD, int kQueries, int kW>
__device__ Merged<kD> merge_warps(const WarpParts<kD, kQueries, kW>& parts, int row) {
  return merge_parts<kD>(
      kW, [&](int warp) { return parts.o[warp][row]; },
      [&](int warp) { return parts.lse2[warp][row]; });
}

// Stores a row whose parts are all merged; by a warp.
template <int kD, class T>
__device__ void store_result(const Tensors<T>& t, std::int64_t row, const Merged<kD>& merged) {
  OfLane<T, kD> o;
#pragma unroll
  for (int c = 0; c < o.kCount; ++c) o.x[c] = T(merged.o.x[c]);
  OfLane<T, kD>::in(t.o + row * kD) = o;
  if (threadIdx.x % 32 == 0) t.lse[row] = attention::kLn2 * merged.lse2;
}

}  // namespace decode
