// What the Hopper rungs share: tiles of A and B as the copy engine (TMA) brings them to shared
// memory and as wgmma reads them there, and the way of C out of the registers.
//
// A row of a tile in shared memory has 128 bytes. Its pieces of 16 bytes are swizzled
// (common/tensor_map.cuh), so that the tensor cores meet no bank conflicts. Eight rows have 1024
// bytes, and tiles begin at multiples of that.
// - A, and B as n x k: a row of the tile is a row of the matrix, 64 values of k long.
// - B as k x n: a row of the tile is 64 columns of one value of k. 64 such rows make a slab, and
//   the tile has a slab for every 64 columns. wgmma transposes it while it reads.
// In rung 18 the two change places.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/ring.cuh"
#include "common/ptx.cuh"
#include "common/ptx_mma.cuh"
#include "common/ptx_tensor.cuh"
#include "common/ptx_wgmma.cuh"
#include "common/tensor_map.cuh"

constexpr int kStep = 64;                   // values of k in a tile: one row of 128 bytes
constexpr int kRowBytes = 128;              // of a row of a tile
constexpr int kSlabBytes = 64 * kRowBytes;  // of 64 rows
constexpr int kBytesOfEightRows = 8 * kRowBytes;

// The tile of C that a block computes, what it takes for one step of 64 values of k, and a ring of
// kStages such steps.
template <int kRowsOfTile, int kColsOfTile, int kStagesOfRing>
struct HopperTile {
  static constexpr int kRows = kRowsOfTile, kCols = kColsOfTile, kStages = kStagesOfRing;
  static constexpr int kBytesA = kRows * kRowBytes, kBytesB = kCols * kRowBytes;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static constexpr int kRingBytes = kStages * kStageBytes;
  static_assert(kRows % 64 == 0 && kRows <= 256, "wgmma takes 64 rows, a box has at most 256");
  static_assert(kCols % 64 == 0 && kCols <= 256, "a slab has 64 columns, wgmma takes at most 256");
};

// Whether the copy engine can read rows of all three matrices: they begin at multiples of 16 bytes.
// If not, the Hopper rungs leave the product to rung 6.
inline bool fits_copy_engine(const __nv_bfloat16* a, std::int64_t a_cols, const __nv_bfloat16* b,
                             std::int64_t b_cols, const __nv_bfloat16* c, std::int64_t c_cols) {
  return common::fits_tensor_map(a, sizeof *a * a_cols) &&
         common::fits_tensor_map(b, sizeof *b * b_cols) &&
         common::fits_tensor_map(c, sizeof *c * c_cols);
}

// The matrices as the copy engine sees them. It asks the L2 cache for 128 bytes at a time, as much
// as a row of a box has: where rows do not begin at multiples of 256 bytes, twice as much would
// fetch some of it in vain.
inline CUtensorMap map_of_rows(const __nv_bfloat16* x, int rows, int cols, int box_rows) {
  const auto width = static_cast<std::uint64_t>(cols), height = static_cast<std::uint64_t>(rows);
  return common::tensor_map(x, {width, height}, {sizeof *x * width},
                            {64, static_cast<std::uint32_t>(box_rows)},
                            CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
}
// A in boxes of `rows` rows and one step of k.
inline CUtensorMap map_of_a(const __nv_bfloat16* a, int m, int k, int rows) {
  return map_of_rows(a, m, k, rows);
}
// B as n x k in boxes of one step of `cols` columns of the product; as k x n in slabs.
template <bool kTransposedB>
CUtensorMap map_of_b(const __nv_bfloat16* b, int n, int k, int cols) {
  return kTransposedB ? map_of_rows(b, n, k, cols) : map_of_rows(b, k, n, kStep);
}
// C in boxes of 64 x 64.
inline CUtensorMap map_of_c(const __nv_bfloat16* c, int m, int n) {
  return map_of_rows(c, m, n, 64);
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Orders B's tile of kCols columns, from `col` on, for the step at p.
template <bool kTransposedB, int kCols>
__device__ inline void order_b(unsigned char* to, const CUtensorMap* map_b, int p, int col,
                               std::uint64_t* barrier) {
  if constexpr (kTransposedB) {
    ptx::tensor_load(to, map_b, p, col, barrier);
  } else {
#pragma unroll
    for (int s = 0; s < kCols / 64; ++s) {
      ptx::tensor_load(to + s * kSlabBytes, map_b, col + 64 * s, p, barrier);
    }
  }
}

// Adds one step to the sums of a warpgroup, 64 rows by 2 kCount columns: four wgmma, each 16 values
// of k. The first step sets the sums, so they need not be cleared. Does not wait. kTransposedA: A's
// tile is a slab of 64 rows of the product, as of B's columns where B is k x n.
template <bool kTransposedB, bool kTransposedA = false, int kCount>
__device__ inline void multiply_step(float (&sum)[kCount], const unsigned char* a,
                                     const unsigned char* b, bool first) {
  constexpr int kTurnA = kTransposedA ? 1 : 0, kTurnB = kTransposedB ? 0 : 1;  // slabs, on reading
  const std::uint64_t from_a = ptx::descriptor_128B(a, 0, kBytesOfEightRows);
  const std::uint64_t from_b =
      ptx::descriptor_128B(b, kTransposedB ? 0 : kSlabBytes, kBytesOfEightRows);
#pragma unroll
  for (int q = 0; q < kStep / 16; ++q) {
    // 16 values of k further: 32 bytes along a row, or 16 rows down a slab.
    ptx::wgmma_bf16<kTurnB, kTurnA>(
        sum, ptx::advance(from_a, kTransposedA ? 16 * kRowBytes * q : 32 * q),
        ptx::advance(from_b, kTransposedB ? 32 * q : 16 * kRowBytes * q), !first || q > 0);
  }
}

// Rounds the sums of a warpgroup and stores them, straight from the registers, at (row, col): two
// neighbours at a time, as far as they are inside. n is even.
template <int kCount>
__device__ inline void store_pairs(const float (&sum)[kCount], __nv_bfloat16* c, int row, int col,
                                   int m, int n) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    const int y = row + 16 * warp + lane / 4 + i / 2 % 2 * 8;
    const int x = col + i / 4 * 8 + lane % 4 * 2;
    if (y < m && x < n) {
      *reinterpret_cast<std::uint32_t*>(c + static_cast<std::int64_t>(y) * n + x) =
          ptx::pack_bf16(sum[i], sum[i + 1]);
    }
  }
}
#endif
