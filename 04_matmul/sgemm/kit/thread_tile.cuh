// How a block's tile of C is cut up for its warps and threads, and what a thread multiplies for one
// k: a column of A's tile and a row of B's, as far as they are its own, in registers.
#pragma once

#include <cuda_runtime.h>

#include "04_matmul/sgemm/kit/edges.cuh"

namespace matmul::sgemm {

// A block computes kTileM x kTileN elements of C, kTileK products of each at a time; a warp
// kWarpM x kWarpN of them; a thread kThreadM x kThreadN: a warp's lanes stand 4 by 8, and each has
// fragments of 4 x 4 elements.
template <int kTileM_, int kTileN_, int kTileK_, int kWarpM_, int kWarpN_, int kMinBlocksPerSm_ = 1>
struct TileShape {
  static constexpr int kTileM = kTileM_, kTileN = kTileN_, kTileK = kTileK_;
  static constexpr int kWarpM = kWarpM_, kWarpN = kWarpN_;
  static constexpr int kMinBlocksPerSm = kMinBlocksPerSm_;  // for __launch_bounds__
  static constexpr int kThreads = kTileM / kWarpM * (kTileN / kWarpN) * 32;
  static constexpr int kThreadM = kWarpM / 4, kThreadN = kWarpN / 8;
  static constexpr int kPitchA = kTileM + 4;  // floats from one k to the next in A's tile
  static constexpr int kStage = kTileK * (kPitchA + kTileN);  // floats of both tiles, A's first
  static_assert(kTileM % kWarpM == 0 && kTileN % kWarpN == 0, "warps fill the tile");
  static_assert(kWarpM % 16 == 0 && kWarpN % 32 == 0, "lanes fill the warp's tile");
};

// Where a thread's fragments are in the block's tile. Lanes 0 and 1 take different rows and the
// same columns, 2 and 3 the next columns: half a warp asks for eight vectors of B, all banks, and
// lanes that ask for the same vector are served together.
template <class T>
struct ThreadTile {
  int row, col;
  __device__ ThreadTile() {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    row = warp / (T::kTileN / T::kWarpN) * T::kWarpM + (lane / 16 * 2 + lane % 2) * 4;
    col = warp % (T::kTileN / T::kWarpN) * T::kWarpN + lane / 2 % 8 * 4;
  }
  __device__ int row_of(int r) const { return row + r / 4 * 16 + r % 4; }
  __device__ int col_of(int s) const { return col + s / 4 * 32 + s % 4; }
};

// What the rungs from `multistage` on choose from. The large tile needs the fewest loads for each
// multiply-add; of the smaller ones there are more for the same C.
using LargeTile = TileShape<128, 256, 16, 64, 64>;
using SmallTile = TileShape<64, 128, 16, 32, 64, 3>;
using TinyTile = TileShape<64, 64, 16, 32, 32, 4>;

// How operands are loaded and multiplied decides what the compiler makes of the whole loop.
template <class T>
struct Operands {
  float a[T::kThreadM], b[T::kThreadN];

  // Of the q-th k of a stage: A's transposed tile and B's behind it.
  __device__ void load(const float* stage, int q, ThreadTile<T> mine) {
    load_a(stage + q * T::kPitchA, mine);
    load_b(stage + T::kTileK * T::kPitchA + q * T::kTileN, mine);
  }
  __device__ void load_a(const float* from, ThreadTile<T> mine) {
#pragma unroll
    for (int r = 0; r < T::kThreadM; r += 4) load_four(&a[r], from + mine.row_of(r));
  }
  __device__ void load_b(const float* from, ThreadTile<T> mine) {
#pragma unroll
    for (int s = 0; s < T::kThreadN; s += 4) load_four(&b[s], from + mine.col_of(s));
  }

  // Adds the outer product of a and b.
  __device__ void multiply(float (&acc)[T::kThreadM][T::kThreadN]) const {
#pragma unroll
    for (int r = 0; r < T::kThreadM; ++r) {
#pragma unroll
      for (int s = 0; s < T::kThreadN; ++s) acc[r][s] += a[r] * b[s];
    }
  }
};

}  // namespace matmul::sgemm
