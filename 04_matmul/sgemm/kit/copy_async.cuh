// Copies from global to shared memory by cp.async (sm_80): of one or four elements, zeros past the
// edge; and, without a branch at an edge, a thread's part in filling stages.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/tile_origin.cuh"

namespace matmul::sgemm {

// Issues a copy of kBytes (4 or 16) to shared memory. If not `inside`, `from` is left alone and
// zeros are stored.
template <int kBytes>
__device__ inline void copy_async(float* to, const float* from, bool inside) {
  if (inside) {
    __pipeline_memcpy_async(to, from, kBytes);
  } else if constexpr (kBytes == 16) {
    *reinterpret_cast<float4*>(to) = make_float4(0, 0, 0, 0);
  } else {
    *to = 0;
  }
}

// The same for the four elements (row, col .. col + 3) of a rows x cols matrix.
template <bool kVectors>
__device__ inline void copy_four_async(float* to, const float* x, int row, int col, int rows,
                                       int cols) {
  const float* from = x + static_cast<std::int64_t>(row) * cols + col;
  if constexpr (kVectors) {
    copy_async<16>(to, from, row < rows && col < cols);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) copy_async<4>(to + i, from + i, row < rows && col + i < cols);
  }
}

// B's tile is copied by cp.async. A's is transposed: with kVectorsA a thread loads float4 into
// registers when it issues a stage and stores their floats by store_a(), when they have come;
// otherwise cp.async takes float by float.
template <class T, bool kVectorsA, bool kVectorsB>
struct TileCopy {
  static constexpr int kWide = kVectorsA ? 4 : 1;                   // floats of A at a time
  static constexpr int kPassA = T::kThreads / (T::kTileK / kWide);  // rows of A's tile at a time
  static constexpr int kPassB = T::kThreads / (T::kTileN / 4);      // rows of B's tile at a time
  static constexpr int kCopiesA = T::kTileM / kPassA, kCopiesB = T::kTileK / kPassB;
  static_assert(T::kTileM * T::kTileK % (4 * T::kThreads) == 0, "threads share A's tile evenly");
  static_assert(T::kTileN * T::kTileK % (4 * T::kThreads) == 0, "threads share B's tile evenly");

  const float *a, *b;              // what comes next: of A, this thread's first row
  std::int64_t further[kCopiesA];  // from there to its other rows
  std::int64_t b_pass;             // from one of its rows of B to the next
  int a_step, a_row, b_step, b_col, cols_left;
  float4 held[kCopiesA];  // of A, in flight; goes to `to_a`
  float* to_a;

  // For the products from k_begin on.
  __device__ TileCopy(const float* from_a, const float* from_b, int m, int n, int k, int k_begin,
                      TileOrigin tile) {
    const int t = threadIdx.x;
    a_step = t % (T::kTileK / kWide) * kWide;
    a_row = t / (T::kTileK / kWide);
    const auto row_of = [&](int i) { return min(tile.row + a_row + i * kPassA, m - 1); };
    a = from_a + static_cast<std::int64_t>(row_of(0)) * k + k_begin + a_step;
#pragma unroll
    for (int i = 0; i < kCopiesA; ++i) {
      further[i] = static_cast<std::int64_t>(row_of(i) - row_of(0)) * k;
    }
    b_step = t / (T::kTileN / 4);
    b_col = t % (T::kTileN / 4) * 4;
    b_pass = static_cast<std::int64_t>(kPassB) * n;
    const int col = min(tile.col + b_col, kVectorsB ? n - 4 : n - 1);
    cols_left = n - 1 - col;
    b = from_b + static_cast<std::int64_t>(k_begin + b_step) * n + col;
  }

  // region issue
  // Issues the copies of the next `steps` k; if kPartial, the rest of kTileK is zeros.
  template <bool kPartial>
  __device__ void issue(float* stage, int steps) {
    to_a = stage + a_step * T::kPitchA + a_row;
#pragma unroll
    for (int i = 0; i < kCopiesA; ++i) {
      const bool inside = !kPartial || a_step < steps;
      const float* from = a + further[i];
      if constexpr (kVectorsA) {
        held[i] = inside ? *reinterpret_cast<const float4*>(from) : make_float4(0, 0, 0, 0);
      } else {
        copy_async<4>(to_a + i * kPassA, from, inside);
      }
    }
    a += steps;

    float* to_b = stage + T::kTileK * T::kPitchA + b_step * T::kTileN + b_col;
    const float* from = b;
#pragma unroll
    for (int i = 0; i < kCopiesB; ++i) {
      const bool inside = !kPartial || b_step + i * kPassB < steps;
      float* to = to_b + i * kPassB * T::kTileN;
      if constexpr (kVectorsB) {
        copy_async<16>(to, from, inside);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) copy_async<4>(to + j, from + min(j, cols_left), inside);
      }
      from += b_pass;
    }
    b = kPartial ? b + steps * (b_pass / kPassB) : from;
    __pipeline_commit();
  }
  // endregion

  // Stores what issue() loaded of A.
  __device__ void store_a() {
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

}  // namespace matmul::sgemm
