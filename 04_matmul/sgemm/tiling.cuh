// How the last rungs cut up their work, as template parameters, and the two things that follow from
// it: what a thread copies, and which elements of C are its own.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/sgemm/10_async_copy.cuh"
#include "04_matmul/sgemm/tiles.cuh"

// How a block cuts up its work. A warp's lanes stand 4 by 8; each has pieces of 4 x 4 elements.
template <int kRows_, int kCols_, int kWarpRows_, int kWarpCols_, int kBlocks_ = 1,
          bool kLoadsStay_ = false>
struct Tiling {
  static constexpr int kRows = kRows_, kCols = kCols_;                  // of C, a block
  static constexpr int kWarpRows = kWarpRows_, kWarpCols = kWarpCols_;  // of C, a warp
  static constexpr int kBlocks = kBlocks_;                              // on an SM at a time
  static constexpr bool kLoadsStay = kLoadsStay_;                       // see Operands
  static constexpr int kDepth = 16;                                     // of the sum, a round
  static constexpr int kStages = 3;  // rounds whose tiles are in shared memory
  static constexpr int kThreads = kRows / kWarpRows * (kCols / kWarpCols) * 32;
  static constexpr int kThreadRows = kWarpRows / 4, kThreadCols = kWarpCols / 8;
  static constexpr int kPitchA = kRows + 4;  // floats from one step to the next in A's turned tile
  static constexpr int kStage = kDepth * (kPitchA + kCols);  // floats of both tiles
  static constexpr int kSharedBytes = kStages * kStage * sizeof(float);
  static_assert(kRows % kWarpRows == 0 && kCols % kWarpCols == 0, "warps fill the tile");
  static_assert(kWarpRows % 16 == 0 && kWarpCols % 32 == 0, "lanes fill the warp's tile");
  static_assert(kRows * kDepth % (4 * kThreads) == 0, "threads share A's tile evenly");
  static_assert(kCols * kDepth % (4 * kThreads) == 0, "threads share B's tile evenly");
};

// A thread's part in filling stages. B's tile is copied by cp.async. A's is turned: with kVectorsA
// a thread loads float4 into registers at the start of a round and stores their floats at its end,
// when they have come; otherwise cp.async takes float by float.
template <class T, bool kVectorsA, bool kVectorsB>
struct Copier {
  static constexpr int kWide = kVectorsA ? 4 : 1;                   // floats of A at a time
  static constexpr int kPassA = T::kThreads / (T::kDepth / kWide);  // rows of A's tile at a time
  static constexpr int kPassB = T::kThreads / (T::kCols / 4);       // rows of B's tile at a time
  static constexpr int kCopiesA = T::kRows / kPassA, kCopiesB = T::kDepth / kPassB;

  const float *a, *b;              // what comes next: of A, this thread's first row
  std::int64_t further[kCopiesA];  // from there to its other rows
  std::int64_t b_pass;             // from one of its rows of B to the next
  int a_step, a_row, b_step, b_col, cols_left;
  float4 held[kCopiesA];  // of A, on its way to `to_a`
  float* to_a;

  // For the sum's steps from `begin` on.
  __device__ Copier(const float* from_a, const float* from_b, int m, int n, int k, int begin,
                    TileOrigin tile) {
    const int t = threadIdx.x;
    a_step = t % (T::kDepth / kWide) * kWide;
    a_row = t / (T::kDepth / kWide);
    const auto row_of = [&](int i) { return min(tile.row + a_row + i * kPassA, m - 1); };
    a = from_a + static_cast<std::int64_t>(row_of(0)) * k + begin + a_step;
#pragma unroll
    for (int i = 0; i < kCopiesA; ++i) {
      further[i] = static_cast<std::int64_t>(row_of(i) - row_of(0)) * k;
    }
    b_step = t / (T::kCols / 4);
    b_col = t % (T::kCols / 4) * 4;
    b_pass = static_cast<std::int64_t>(kPassB) * n;
    const int col = min(tile.col + b_col, kVectorsB ? n - 4 : n - 1);
    cols_left = n - 1 - col;
    b = from_b + static_cast<std::int64_t>(begin + b_step) * n + col;
  }

  // Orders the next `steps` steps of the sum; if kPartial, the rest of kDepth is zeros.
  template <bool kPartial>
  __device__ void order(float* stage, int steps) {
    to_a = stage + a_step * T::kPitchA + a_row;
#pragma unroll
    for (int i = 0; i < kCopiesA; ++i) {
      const bool inside = !kPartial || a_step < steps;
      const float* from = a + further[i];
      if constexpr (kVectorsA) {
        held[i] = inside ? *reinterpret_cast<const float4*>(from) : make_float4(0, 0, 0, 0);
      } else {
        order_copy<4>(to_a + i * kPassA, from, inside);
      }
    }
    a += steps;
    float* to_b = stage + T::kDepth * T::kPitchA + b_step * T::kCols + b_col;
    const float* from = b;
#pragma unroll
    for (int i = 0; i < kCopiesB; ++i) {
      const bool inside = !kPartial || b_step + i * kPassB < steps;
      float* to = to_b + i * kPassB * T::kCols;
      if constexpr (kVectorsB) {
        order_copy<16>(to, from, inside);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) order_copy<4>(to + j, from + min(j, cols_left), inside);
      }
      from += b_pass;
    }
    b = kPartial ? b + steps * (b_pass / kPassB) : from;
    __pipeline_commit();
  }

  // Stores what order() loaded of A.
  __device__ void store() {
    if constexpr (kVectorsA) {
#pragma unroll
      for (int i = 0; i < kCopiesA; ++i) {
        float* to = to_a + i * kPassA;
        to[0] = held[i].x;
        to[T::kPitchA] = held[i].y;
        to[2 * T::kPitchA] = held[i].z;
        to[3 * T::kPitchA] = held[i].w;
      }
    }
  }
};

// Where a thread's pieces are in the tile. Lanes 0 and 1 take different rows and the same columns,
// 2 and 3 the next columns: what a quarter of a warp asks for then fills whole passes.
template <class T>
struct Place {
  int row, col;
  __device__ Place() {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    row = warp / (T::kCols / T::kWarpCols) * T::kWarpRows + (lane / 16 * 2 + lane % 2) * 4;
    col = warp % (T::kCols / T::kWarpCols) * T::kWarpCols + lane / 2 % 8 * 4;
  }
  __device__ int row_of(int r) const { return row + r / 4 * 16 + r % 4; }
  __device__ int col_of(int s) const { return col + s / 4 * 32 + s % 4; }
};
