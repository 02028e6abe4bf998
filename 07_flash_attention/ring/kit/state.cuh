// What is left of a query's attention between two steps: O of all keys so far, in fp32, and their
// log-sum-exp.
//
// O is a mean of values with the weights exp(score - lse), which sum to 1. So whoever has both can
// go on as if one key had been seen, with the score lse and the value O: the online softmax begins
// with the maximum lse, the sum 1 and that O. That is the merge of two parts by their log-sum-exp
// (Dao et al., Flash-Decoding, 2023; Liu, Zaharia and Abbeel, Ring Attention, 2023), and it costs
// no step of its own.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/tensor_map.cuh"

namespace ring_attention {

// Of one head, on the device: n rows.
template <class T, int kD>
struct RowsInMemory {
  float* state;  // [n, kD]
  float* lse;    // [n]
  T* o;          // [n, kD]
  int n;
  int complete;  // of these rows, the first ones: they are stored in o, all others in state

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  // To the rows `count` further on.
  __device__ __forceinline__ void advance(std::int64_t count) {
    state += count * kD;
    lse += count;
    o += count * kD;
  }

  // region resume
  // Rows `row` and `row` + 8 of an accumulator, as it lies in a warp (accumulators.cuh): with what
  // the steps before have left, the softmax goes on.
  __device__ __forceinline__ void resume(int row, attention::OnlineSoftmax& rows,
                                         float (&o)[kD / 2]) const {
    const int lane = threadIdx.x % 4;
    for (int r = 0; r < 2; ++r) {
      const bool inside = row + 8 * r < n;
      const auto* pairs = reinterpret_cast<const float2*>(state) +
                          static_cast<std::int64_t>(row + 8 * r) * (kD / 2) + lane;
#pragma unroll
      for (int i = 0; i < kD / 2; i += 4) {
        const float2 pair = inside ? pairs[i] : make_float2(0, 0);
        o[i + 2 * r] = pair.x;
        o[i + 2 * r + 1] = pair.y;
      }
      const float before = inside ? lse[row + 8 * r] : -INFINITY;
      if (before == -INFINITY) continue;  // no key so far
      rows.shift[r] = before * attention::kLog2E;
      rows.row_max[r] = rows.shift[r] / rows.scale;
      rows.sum[r] = lane == 0 ? 1 : 0;  // the four lanes of a row add up their sums at the end
    }
  }
  // endregion

  // The reverse. o must not be used afterwards.
  __device__ __forceinline__ void leave(int row, attention::OnlineSoftmax& rows,
                                        float (&o)[kD / 2]) const {
    float factor[2], new_lse[2];
    rows.finish(factor, new_lse);
    attention::OnlineSoftmax::rescale(o, factor);
    const int lane = threadIdx.x % 4;
    for (int r = 0; r < 2; ++r) {
      const int at = row + 8 * r;
      if (at >= n) continue;
      if (lane == 0) lse[at] = new_lse[r];
      const std::int64_t first = static_cast<std::int64_t>(at) * (kD / 2) + lane;
      auto* rounded = reinterpret_cast<std::uint32_t*>(this->o) + first;
      auto* exact = reinterpret_cast<float2*>(state) + first;
#pragma unroll
      for (int i = 0; i < kD / 2; i += 4) {
        const float left = o[i + 2 * r], right = o[i + 2 * r + 1];
        if (at < complete) {
          rounded[i] = ptx::pack<T>(left, right);
        } else {
          exact[i] = make_float2(left, right);
        }
      }
    }
    __syncwarp();  // the lanes may have parted at the end of the head
  }

  // The same for all rows of a thread: of MmaQueries.
  template <class Queries>
  __device__ __forceinline__ void resume(Queries& queries) const {
#pragma unroll
    for (int g = 0; g < Queries::kGroups; ++g) {
      resume(queries.row(g), queries.rows[g], queries.o[g]);
    }
  }
  template <class Queries>
  __device__ __forceinline__ void leave(Queries& queries) const {
    ptx::cp_async_wait<0>();  // without keys the queries may still be on their way
#pragma unroll
    for (int g = 0; g < Queries::kGroups; ++g) {
      leave(queries.row(g), queries.rows[g], queries.o[g]);
    }
  }
#endif
};

// How TMA sees a window of `rows` rows of every head, of which there are `head_rows`.
template <class Tile, class T>
CUtensorMap window_map(const T* base, int heads, int head_rows, int rows, int box_rows) {
  const auto size = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  constexpr int kD = Tile::kD;
  return kit::tensor_map(
      base, {64, size(std::max(rows, 1)), size(kD / 64), size(heads)},
      {size(kD * 2), 128, size(std::int64_t{head_rows} * kD * 2)},
      {64, static_cast<std::uint32_t>(box_rows), static_cast<std::uint32_t>(kD / 64), 1});
}

}  // namespace ring_attention
