// Rung 12, split_sum: the tile is chosen by size, and a long sum is shared out over several blocks.
//
// A C of 1024 x 1024 has 32 tiles of 128 x 256, for 132 SMs. Smaller tiles give every SM work, at
// the price of more loads for each multiply-add. And where even they are too few, several blocks
// take parts of the same sums and add them to C, which was set to zero first, by atomic additions:
// their order, hence the rounding, differs from run to run. Which way is best is estimated from the
// number of rounds in which the SMs get through all tiles.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/sgemm/11_tuned.cuh"
#include "04_matmul/sgemm/tiles.cuh"
#include "common/cuda_check.cuh"

// Adds the four elements (row, col .. col + 3) to C, as far as they are inside, each of them
// atomically. kVectors: they are inside or outside together and aligned to 16 bytes.
template <bool kVectors>
__device__ inline void add_four(float* c, int row, int col, int rows, int cols,
                                const float* values) {
  if (row >= rows || col >= cols) return;
  float* to = c + static_cast<std::int64_t>(row) * cols + col;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && CUDART_VERSION >= 12010
  if constexpr (kVectors) {  // sm_90 adds four floats with one instruction, since CUDA 12.1
    atomicAdd(reinterpret_cast<float4*>(to),
              make_float4(values[0], values[1], values[2], values[3]));
  } else
#endif
  {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (col + i < cols) atomicAdd(to + i, values[i]);
    }
  }
}

// Block (x, y): tile x, and of its sums the part from y * steps on.
template <class T, bool kVectorsA, bool kVectorsB>
__global__ void __launch_bounds__(T::kThreads, T::kBlocks)
    sgemm_split_sum_kernel(const float* a, const float* b, float* c, int m, int n, int k,
                           int steps) {
  const TileOrigin tile = tile_in_bands<T::kRows, T::kCols>(m, n);
  const int begin = static_cast<int>(blockIdx.y) * steps;
  const Place<T> place;
  float sum[T::kThreadRows][T::kThreadCols] = {};
  multiply_tile<T, kVectorsA, kVectorsB>(a, b, m, n, k, begin, min(k, begin + steps), tile, place,
                                         sum);
#pragma unroll
  for (int r = 0; r < T::kThreadRows; ++r) {
#pragma unroll
    for (int s = 0; s < T::kThreadCols; s += 4) {
      add_four<kVectorsB>(c, tile.row + place.row_of(r), tile.col + place.col_of(s), m, n,
                          &sum[r][s]);
    }
  }
}

template <class T>
void launch_split_sum(const float* a, const float* b, float* c, int m, int n, int k, int parts,
                      cudaStream_t stream) {
  const int steps = divide_up(divide_up(k, parts), 4) * 4;  // so that float4 fit every part
  const dim3 grid(tiles_of<T::kRows, T::kCols>(m, n), divide_up(k, steps));
  CUDA_CHECK(cudaMemsetAsync(c, 0, sizeof(float) * m * static_cast<std::int64_t>(n), stream));
  with_vectors(a, k, b, c, n, [&](auto vectors_a, auto vectors_b) {
    const auto kernel = sgemm_split_sum_kernel<T, vectors_a, vectors_b>;
    allow_shared(kernel, T::kSharedBytes);
    kernel<<<grid, T::kThreads, T::kSharedBytes, stream>>>(a, b, c, m, n, k, steps);
    CUDA_CHECK(cudaGetLastError());
  });
}

// The tiles to choose from, with LargeTiling: it needs the fewest loads, these fit more often.
using SmallTiling = Tiling<64, 128, 32, 64, 3>;
using TinyTiling = Tiling<64, 64, 32, 32, 4>;

struct Plan {
  enum { kLarge, kSmall, kTiny } tiling;
  int parts;  // of each sum; 1: no atomic additions
};

// If there are small tiles for nearly all SMs, the tile with which the slowest SM has the least to
// do; otherwise tiny tiles and so many parts that each SM has four blocks. Work is counted in
// multiply-adds of a block at the pace of the large tile; the small one is 5 % slower (measured on
// an H200).
inline Plan plan_split_sum(std::int64_t m, std::int64_t n, std::int64_t k, int multiprocessors) {
  const auto rounds = [&](std::int64_t blocks) { return divide_up(blocks, multiprocessors); };
  const double large = 1.0 * rounds(tiles_of<LargeTiling::kRows, LargeTiling::kCols>(m, n)) *
                       LargeTiling::kRows * LargeTiling::kCols * k;
  const std::int64_t small_tiles = tiles_of<SmallTiling::kRows, SmallTiling::kCols>(m, n);
  const double small = 1.05 * rounds(small_tiles) * SmallTiling::kRows * SmallTiling::kCols * k;
  if (small_tiles >= multiprocessors * 9 / 10) {
    return {large <= small ? Plan::kLarge : Plan::kSmall, 1};
  }
  // Parts of a sum should not get shorter than 64 steps.
  const std::int64_t tiny_tiles = tiles_of<TinyTiling::kRows, TinyTiling::kCols>(m, n);
  const std::int64_t wanted = TinyTiling::kBlocks * multiprocessors / tiny_tiles;
  const std::int64_t parts = std::max<std::int64_t>(1, std::min<std::int64_t>(wanted, k / 64));
  return {Plan::kTiny, static_cast<int>(parts)};
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_split_sum(const float* a, const float* b, float* c, int m, int n, int k,
                            cudaStream_t stream) {
  const Plan plan = plan_split_sum(m, n, k, multiprocessor_count());
  const auto launch = [&](auto tiling) {
    using T = decltype(tiling);
    if (plan.parts == 1) {
      launch_tuned<T>(a, b, c, m, n, k, stream);
    } else {
      launch_split_sum<T>(a, b, c, m, n, k, plan.parts, stream);
    }
  };
  switch (plan.tiling) {
    case Plan::kLarge: return launch(LargeTiling{});
    case Plan::kSmall: return launch(SmallTiling{});
    case Plan::kTiny: return launch(TinyTiling{});
  }
}
