// A tile of attention with its accumulators in registers, by 256 threads: the parts of rungs 7 and
// 8, which differ in when they load what.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "07_flash_attention/shape.hpp"
#include "common/kit/launch.cuh"

namespace attention {

// How a block cuts up its work. Each of its 8 warps has rows (queries) of its own. The lanes of a
// warp stand in two groups of 16: group g has every second row, and member m of it the keys m,
// m + 16, ... and, of the output, the columns 4 m .. 4 m + 3, 64 + 4 m ...
template <int kD_, int kThreadM_, int kTileN_, int kBlocks_ = 1>
struct RegisterTile {
  static constexpr int kD = kD_, kThreadM = kThreadM_, kTileN = kTileN_;
  static constexpr int kBlocks = kBlocks_;  // on an SM at a time, at least
  static constexpr int kThreads = 256;
  static constexpr int kWarpRows = 2 * kThreadM, kTileM = kThreads / 32 * kWarpRows;
  static constexpr int kThreadN = kTileN / 16, kThreadFours = kD / 64;
  static constexpr int kPitch = kD + 4;  // floats from row to row: 8 rows start in 8 bank groups

  struct Shared {
    float q[kTileM][kPitch], k[kTileN][kPitch], v[kTileN][kD];
    float p[kTileM][kTileN + 16];  // the two groups store in different banks
  };
};

// Who a thread is.
template <class T>
struct Lane {
  int group = threadIdx.x % 32 / 16, member = threadIdx.x % 16;
  int first_row = threadIdx.x / 32 * T::kWarpRows;
  __device__ int row(int r) const { return first_row + 2 * r + group; }
};

// A thread's share of what is known of its rows so far, in base 2.
template <class T>
struct RegisterState {
  float row_max[T::kThreadM], sum[T::kThreadM];  // the sum: of this thread's keys only
  float4 o[T::kThreadM][T::kThreadFours];
};

__device__ inline float4 load_four(const float* from) {
  return *reinterpret_cast<const float4*>(from);
}
__device__ inline void add_product(float4& sum, float a, float4 b) {
  sum.x += a * b.x;
  sum.y += a * b.y;
  sum.z += a * b.z;
  sum.w += a * b.w;
}

// Copies kCount rows of kD floats from row `first` on, past the last of `rows` zeros.
template <class T, int kCount, int kPitch>
__device__ void load_rows(float (&to)[kCount][kPitch], const float* from, int first, int rows) {
  for (int i = threadIdx.x; i < kCount * T::kD / 4; i += T::kThreads) {
    const int row = i / (T::kD / 4), col = i % (T::kD / 4) * 4;
    const bool inside = first + row < rows;
    *reinterpret_cast<float4*>(&to[row][col]) =
        inside ? load_four(from + (first + row) * T::kD + col) : make_float4(0, 0, 0, 0);
  }
}

// score = Q K^T of the tile, four elements of queries and keys at a time.
template <class T>
__device__ void multiply_qk(const typename T::Shared& tile,
                            float (&score)[T::kThreadM][T::kThreadN]) {
  const Lane<T> lane{};
#pragma unroll
  for (int r = 0; r < T::kThreadM; ++r) {
#pragma unroll
    for (int i = 0; i < T::kThreadN; ++i) score[r][i] = 0;
  }
#pragma unroll 4
  for (int c = 0; c < T::kD; c += 4) {
    float4 k[T::kThreadN];
#pragma unroll
    for (int i = 0; i < T::kThreadN; ++i) k[i] = load_four(&tile.k[lane.member + 16 * i][c]);
#pragma unroll
    for (int r = 0; r < T::kThreadM; ++r) {
      const float4 q = load_four(&tile.q[lane.row(r)][c]);
#pragma unroll
      for (int i = 0; i < T::kThreadN; ++i) {
        score[r][i] += q.x * k[i].x;
        score[r][i] += q.y * k[i].y;
        score[r][i] += q.z * k[i].z;
        score[r][i] += q.w * k[i].w;
      }
    }
  }
}

// -infinity for keys that a row does not see. first_visible: how many of the tile's keys the
// block's first row sees, as a causal mask has it; inside: how many there are at all.
template <class T, bool kCausal>
__device__ void mask_scores(float (&score)[T::kThreadM][T::kThreadN], int first_visible,
                            int inside) {
  const Lane<T> lane{};
#pragma unroll
  for (int r = 0; r < T::kThreadM; ++r) {
    const int visible = kCausal ? min(inside, first_visible + lane.row(r)) : inside;
#pragma unroll
    for (int i = 0; i < T::kThreadN; ++i) {
      if (lane.member + 16 * i >= visible) score[r][i] = -INFINITY;
    }
  }
}

// Turns scores into weights, which go to tile.p, and brings the state to their scale. scale: that
// of the scores times log2(e).
template <class T>
__device__ void update_softmax(typename T::Shared& tile, RegisterState<T>& state,
                               const float (&score)[T::kThreadM][T::kThreadN], float scale) {
  const Lane<T> lane{};
#pragma unroll
  for (int r = 0; r < T::kThreadM; ++r) {
    // The new maximum of the row, which 16 lanes share.
    float row_max = score[r][0];
#pragma unroll
    for (int i = 1; i < T::kThreadN; ++i) row_max = fmaxf(row_max, score[r][i]);
#pragma unroll
    for (int step = 8; step > 0; step /= 2) {
      row_max = fmaxf(row_max, __shfl_xor_sync(0xffffffff, row_max, step));
    }

    // What was summed is brought to its scale. Nothing seen yet: 0 is subtracted, not -infinity.
    row_max = fmaxf(state.row_max[r], scale * row_max);
    const float shift = row_max == -INFINITY ? 0.0f : row_max;
    const float correction = exp2f(state.row_max[r] - shift);
    state.row_max[r] = row_max;
    state.sum[r] *= correction;
#pragma unroll
    for (int i = 0; i < T::kThreadN; ++i) {
      const float weight = exp2f(fmaf(score[r][i], scale, -shift));
      tile.p[lane.row(r)][lane.member + 16 * i] = weight;
      state.sum[r] += weight;
    }
#pragma unroll
    for (int i = 0; i < T::kThreadFours; ++i) {
      state.o[r][i].x *= correction;
      state.o[r][i].y *= correction;
      state.o[r][i].z *= correction;
      state.o[r][i].w *= correction;
    }
  }
  __syncwarp();  // the weights of a row stay within its warp
}

// state.o += P V of the tile, four keys at a time.
template <class T>
__device__ void multiply_pv(const typename T::Shared& tile, RegisterState<T>& state) {
  const Lane<T> lane{};
#pragma unroll 2
  for (int j = 0; j < T::kTileN; j += 4) {
    float4 p[T::kThreadM];
#pragma unroll
    for (int r = 0; r < T::kThreadM; ++r) p[r] = load_four(&tile.p[lane.row(r)][j]);
#pragma unroll
    for (int i = 0; i < T::kThreadFours; ++i) {
      const int col = 4 * lane.member + 64 * i;
      const float4 v0 = load_four(&tile.v[j][col]), v1 = load_four(&tile.v[j + 1][col]);
      const float4 v2 = load_four(&tile.v[j + 2][col]), v3 = load_four(&tile.v[j + 3][col]);
#pragma unroll
      for (int r = 0; r < T::kThreadM; ++r) {
        add_product(state.o[r][i], p[r].x, v0);
        add_product(state.o[r][i], p[r].y, v1);
        add_product(state.o[r][i], p[r].z, v2);
        add_product(state.o[r][i], p[r].w, v3);
      }
    }
  }
}

// What every kernel of this shape begins with: nothing is known of a row.
template <class T>
__device__ void clear(RegisterState<T>& state) {
#pragma unroll
  for (int r = 0; r < T::kThreadM; ++r) {
    state.row_max[r] = -INFINITY;
    state.sum[r] = 0;
#pragma unroll
    for (int i = 0; i < T::kThreadFours; ++i) state.o[r][i] = make_float4(0, 0, 0, 0);
  }
}

// ... and ends with: o / sum and the log-sum-exp, for the rows that exist. The pointers are those
// of the head.
template <class T>
__device__ void store_rows(RegisterState<T>& state, float* o, float* lse, int first_row, int n_q) {
  const Lane<T> lane{};
#pragma unroll
  for (int r = 0; r < T::kThreadM; ++r) {
    float sum = state.sum[r];
#pragma unroll
    for (int step = 8; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    const int row = first_row + lane.row(r);
    if (row >= n_q) continue;
    const float factor = sum > 0 ? 1 / sum : 0.0f;
#pragma unroll
    for (int i = 0; i < T::kThreadFours; ++i) {
      float4 four = make_float4(0, 0, 0, 0);
      add_product(four, factor, state.o[r][i]);
      *reinterpret_cast<float4*>(o + row * T::kD + 4 * lane.member + 64 * i) = four;
    }
    if (lane.member == 0) lse[row] = kLn2 * (state.row_max[r] + log2f(sum));
  }
}

// Calls launch(RegisterTile<...>()): the tile for this d, and for what an SM offers.
template <int kD, class Launch>
void with_register_tile(Launch launch) {
  using Large = RegisterTile<kD, kD == 256 ? 4 : 8, kD == 256 ? 32 : 64, kD == 64 ? 2 : 1>;
  using Small = RegisterTile<kD, 4, 32>;
  constexpr int kLargeBytes = static_cast<int>(sizeof(typename Large::Shared));
  if (kLargeBytes <= kit::most_shared()) return launch(Large());
  launch(Small());
}

}  // namespace attention
