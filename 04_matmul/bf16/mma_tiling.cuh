// How rung 6 cuts up its work, as template parameters, and its two ways between global memory, the
// ring of tiles in shared memory and the registers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/bf16/05_swizzled.cuh"
#include "04_matmul/bf16/tiles.cuh"
#include "common/ptx_mma.cuh"

// kTransposedB: B is n x k, and so is its tile.
template <bool kTransposedB_, int kRows_, int kCols_, int kWarpRows_, int kWarpCols_, int kDepth_,
          int kStages_, int kBlocks_ = 1>
struct MmaTiling {
  static constexpr bool kTransposedB = kTransposedB_;
  static constexpr int kRows = kRows_, kCols = kCols_;                  // of C, a block
  static constexpr int kWarpRows = kWarpRows_, kWarpCols = kWarpCols_;  // of C, a warp
  static constexpr int kDepth = kDepth_;                                // of the sum, a stage
  static constexpr int kStages = kStages_;  // whose tiles are in shared memory
  static constexpr int kBlocks = kBlocks_;  // on an SM at a time, at least
  static constexpr int kWarpsAcross = kCols / kWarpCols;
  static constexpr int kThreads = kRows / kWarpRows * kWarpsAcross * 32;
  static constexpr int kRowsB = kTransposedB ? kCols : kDepth;  // of B's tile
  static constexpr int kColsB = kTransposedB ? kDepth : kCols;
  static constexpr int kTileA = kRows * kDepth, kTileB = kDepth * kCols;  // elements
  static constexpr int kStage = kTileA + kTileB;
  static constexpr int kSharedBytes = kStages * kStage * 2;
  static constexpr int kPartsA = kWarpRows / 16, kPartsB = kWarpCols / 16;  // 16 x 16 of a warp
  static_assert(kStages >= 2, "one stage in use while another is being filled");
  static_assert(kRows % kWarpRows == 0 && kCols % kWarpCols == 0, "warps fill the tile");
  static_assert(kRows * kCols <= kStages * kStage, "C's tile fits into the ring");
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// A thread's part in copying tiles of kTileRows x kTileCols from a rows x cols matrix, one after
// the other. kVectors: has_vector_rows() holds, and the copies are cp.async; otherwise eight
// elements are loaded one by one, and the thread waits for them.
template <int kTileRows, int kTileCols, int kThreads, bool kVectors>
struct TileCopier {
  static constexpr int kPass = kThreads / (kTileCols / 8);  // rows at a time
  static_assert(kTileRows % kPass == 0 && kPass % 8 == 0, "a thread's rows have the same swizzle");
  static constexpr int kPieces = kTileRows / kPass;
  const __nv_bfloat16* matrix;
  const __nv_bfloat16* from[kPieces];  // a pointer each: none waits for another's copy to start
  int row, col, rows, cols, to;

  // The first tile begins at (first_row, first_col).
  __device__ TileCopier(const __nv_bfloat16* matrix, int first_row, int first_col, int rows,
                        int cols)
      : matrix(matrix), rows(rows), cols(cols) {
    const int y = threadIdx.x / (kTileCols / 8), x = threadIdx.x % (kTileCols / 8) * 8;
    row = first_row + y;
    col = first_col + x;
    to = swizzled<kTileCols>(y, x);
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      from[i] = matrix + static_cast<std::int64_t>(row + i * kPass) * cols + col;
    }
  }

  // Orders the tile.
  __device__ void order(__nv_bfloat16* tile) const {
#pragma unroll(kVectors ? kPieces : 1)
    for (int i = 0; i < kPieces; ++i) {
      __nv_bfloat16* piece = tile + to + i * kPass * kTileCols;
      if constexpr (kVectors) {
        ptx::cp_async_16(piece, from[i], row + i * kPass < rows && col < cols);
      } else {
        *reinterpret_cast<uint4*>(piece) =
            eight_or_zero<false>(matrix, row + i * kPass, col, rows, cols);
      }
    }
  }

  // Goes on to the tile that begins `down` rows and `right` columns further on.
  __device__ void advance(int down, int right) {
    row += down;
    col += right;
#pragma unroll
    for (int i = 0; i < kPieces; ++i) from[i] += static_cast<std::int64_t>(down) * cols + right;
  }
};

// What a warp multiplies in one step: 16 columns of A and 16 rows of B, as fragments.
template <class T>
struct Fragments {
  std::uint32_t a[T::kPartsA][4], b[T::kPartsB][4];

  // Step q of a stage, for the warp whose part of C begins at (y, x) in the tile.
  __device__ void load(const __nv_bfloat16* stage, int q, int y, int x) {
    const int lane = threadIdx.x % 32;
    const __nv_bfloat16* tile_b = stage + T::kTileA;
#pragma unroll
    for (int r = 0; r < T::kPartsA; ++r) {
      ptx::ldmatrix_x4(a[r],
                       stage + swizzled<T::kDepth>(y + 16 * r + lane % 16, 16 * q + lane / 16 * 8));
    }
#pragma unroll
    for (int s = 0; s < T::kPartsB; ++s) {
      if constexpr (T::kTransposedB) {
        ptx::ldmatrix_x4(b[s], tile_b + swizzled<T::kColsB>(x + 16 * s + lane / 16 * 8 + lane % 8,
                                                            16 * q + lane / 8 % 2 * 8));
      } else {
        ptx::ldmatrix_x4_trans(
            b[s], tile_b + swizzled<T::kColsB>(16 * q + lane % 16, x + 16 * s + lane / 16 * 8));
      }
    }
  }
};

// Rounds a warp's part of C and stores it at (row, col): through shared memory, so that eight lanes
// write 128 bytes of a row together. `staging` has room for it.
template <class T, bool kVectors>
__device__ void store_part(const float (&sum)[T::kPartsA][2 * T::kPartsB][4],
                           __nv_bfloat16* staging, __nv_bfloat16* c, int row, int col, int m,
                           int n) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int r = 0; r < T::kPartsA; ++r) {
#pragma unroll
    for (int s = 0; s < 2 * T::kPartsB; ++s) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        __nv_bfloat16* piece =
            staging + swizzled<T::kWarpCols>(16 * r + 8 * half + lane / 4, 8 * s);
        *reinterpret_cast<std::uint32_t*>(piece + lane % 4 * 2) =
            ptx::pack_bf16(sum[r][s][2 * half], sum[r][s][2 * half + 1]);
      }
    }
  }
  __syncwarp();
#pragma unroll
  for (int i = lane; i < T::kWarpRows * T::kWarpCols / 8; i += 32) {
    const int y = i / (T::kWarpCols / 8), x = i % (T::kWarpCols / 8) * 8;
    store_eight<kVectors>(c, row + y, col + x, m, n,
                          *reinterpret_cast<const uint4*>(staging + swizzled<T::kWarpCols>(y, x)));
  }
}
#endif
