// How scales that are the same along all of k meet a sum: once, when it is complete.
#pragma once

#include <cuda_runtime.h>

#include "04_matmul/fp8/product.cuh"
#include "04_matmul/kit/scaling.cuh"
#include "common/kit/ptx/roles.cuh"

namespace matmul::fp8 {

// One scale for all of A and one for all of B.
struct TensorScales {
  static constexpr Scaling kScaling = Scaling::tensor;
  const float *a, *b;

  template <int kRows, int kCols>
  struct Shared {};
  struct Mine {};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __device__ Mine load(int /*row*/, int /*col*/) const { return {}; }

  template <int kRows, int kCols>
  __device__ static void share(Shared<kRows, kCols>& /*shared*/, Mine /*mine*/, int /*barrier*/) {}

  // Of a warpgroup's sums, laid out as wgmma does, 64 rows by 2 kCount columns.
  template <int kCount, int kRows, int kCols>
  __device__ void apply(float (&sums)[kCount], const Shared<kRows, kCols>& /*shared*/,
                        int /*first_row*/, int /*first_col*/ = 0) const {
    const float scale = *a * *b;
#pragma unroll
    for (int i = 0; i < kCount; ++i) sums[i] *= scale;
  }
#endif
};

// region rows
// One for each row of A and one for each column of the product. Each thread loads a few before the
// products, which hide their way, and after them all meet in shared memory: a thread needs those of
// two rows, and of two neighbours in eight columns.
struct RowScales {
  static constexpr Scaling kScaling = Scaling::rows;
  const float *a, *b;
  int m, n;

  // Of a warpgroup's tile.
  template <int kRows, int kCols>
  struct Shared {
    float rows[kRows];
    float2 cols[kCols / 2];
  };

  // Of a thread of the warpgroup: of one row, and of two columns.
  struct Mine {
    float row;
    float2 cols;
  };

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // Of the tile at (row, col).
  __device__ Mine load(int row, int col) const {
    const int t = threadIdx.x % 128, x = col + 2 * t;
    return {a[min(row + t, m - 1)], make_float2(b[min(x, n - 1)], b[min(x + 1, n - 1)])};
  }

  // To all of the warpgroup, which has used the ones before.
  template <int kRows, int kCols>
  __device__ static void share(Shared<kRows, kCols>& shared, Mine mine, int barrier) {
    const int t = threadIdx.x % 128;
    if (t < kRows) shared.rows[t] = mine.row;
    if (t < kCols / 2) shared.cols[t] = mine.cols;
    ptx::named_barrier_sync(barrier, 128);
  }

  // Of 64 rows of the tile, and 2 kCount columns.
  template <int kCount, int kRows, int kCols>
  __device__ void apply(float (&sums)[kCount], const Shared<kRows, kCols>& shared, int first_row,
                        int first_col = 0) const {
    const int y = first_row + 16 * (threadIdx.x % 128 / 32) + threadIdx.x % 32 / 4;
    const float top = shared.rows[y], bottom = shared.rows[y + 8];
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const float2 two = shared.cols[first_col / 2 + i + threadIdx.x % 4];
      sums[i] *= top * two.x, sums[i + 1] *= top * two.y;
      sums[i + 2] *= bottom * two.x, sums[i + 3] *= bottom * two.y;
    }
  }
#endif
};
// endregion

template <class Scales, class ElementA>
Scales scales_of(const Product<ElementA>& x) {
  if constexpr (Scales::kScaling == Scaling::tensor) {
    return {x.scales_a, x.scales_b};
  } else if constexpr (Scales::kScaling == Scaling::blocks) {
    return {x.scales_a, x.scales_b, {Scaling::blocks, x.m, x.n, x.k}};
  } else {
    return {x.scales_a, x.scales_b, x.m, x.n};
  }
}

}  // namespace matmul::fp8
