// A block's tile of a matrix product for mma.sync: its sizes, the fragments of a warp, loaded from
// swizzled tiles in shared memory, and the way of C to global memory by way of one.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace matmul {

// kTransposedB: B is n x k, and so is its tile. kSlabsB: where B is k x n, its tile lies in slabs
// of 64 columns, as TMA brings it; otherwise its rows lie as they are.
template <bool kTransposedB_, int kTileM_, int kTileN_, int kWarpM_, int kWarpN_, int kTileK_,
          int kStages_, bool kSlabsB_ = false>
struct MmaGemmTile {
  static constexpr bool kTransposedB = kTransposedB_, kSlabsB = kSlabsB_;
  static constexpr int kTileM = kTileM_, kTileN = kTileN_;  // of C, per block
  static constexpr int kWarpM = kWarpM_, kWarpN = kWarpN_;  // of C, per warp
  static constexpr int kTileK = kTileK_;                    // values of k, per stage
  static constexpr int kStages = kStages_;                  // whose tiles are in shared memory
  static constexpr int kWarpsAcross = kTileN / kWarpN;
  static constexpr int kThreads = kTileM / kWarpM * kWarpsAcross * 32;
  static constexpr int kRowsB = kTransposedB ? kTileN : kTileK;  // of B's tile
  static constexpr int kColsB = kTransposedB ? kTileK : kTileN;
  static constexpr int kTileA = kTileM * kTileK, kTileB = kTileK * kTileN;  // elements
  static constexpr int kTileC = kTileM * kTileN, kStage = kTileA + kTileB;
  static constexpr int kRoom = kStages * kStage > kTileC ? kStages* kStage : kTileC;
  static constexpr int kSharedBytes = kRoom * 2;  // for the stages, and later for C's tile
  static constexpr int kPartsA = kWarpM / 16, kPartsB = kWarpN / 16;  // 16 x 16 of a warp
  static_assert(kTileM % kWarpM == 0 && kTileN % kWarpN == 0, "warps fill the tile");
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// Where the chunk at (p, col) of a k x n tile of B lies, in elements.
template <class T>
__device__ constexpr int offset_b(int p, int col) {
  if constexpr (T::kSlabsB) {
    return col / 64 * 64 * T::kTileK + kit::swizzled<64>(p, col % 64);
  } else {
    return kit::swizzled<T::kColsB>(p, col);
  }
}

// What a warp multiplies in one step: 16 columns of A and 16 rows of B, as fragments.
template <class T>
struct Fragments {
  std::uint32_t a[T::kPartsA][4], b[T::kPartsB][4];

  // The 16 values of k from 16 q on, of a stage, for the warp whose part of C begins at (y, x) in
  // the tile.
  __device__ void load(const __nv_bfloat16* stage, int q, int y, int x) {
    const int lane = threadIdx.x % 32;
    const __nv_bfloat16* tile_b = stage + T::kTileA;
#pragma unroll
    for (int r = 0; r < T::kPartsA; ++r) {
      ptx::ldmatrix_x4(
          a[r], stage + kit::swizzled<T::kTileK>(y + 16 * r + lane % 16, 16 * q + lane / 16 * 8));
    }
#pragma unroll
    for (int s = 0; s < T::kPartsB; ++s) {
      if constexpr (T::kTransposedB) {
        ptx::ldmatrix_x4(b[s],
                         tile_b + kit::swizzled<T::kColsB>(x + 16 * s + lane / 16 * 8 + lane % 8,
                                                           16 * q + lane / 8 % 2 * 8));
      } else {
        ptx::ldmatrix_x4_trans(
            b[s], tile_b + offset_b<T>(16 * q + lane % 16, x + 16 * s + lane / 16 * 8));
      }
    }
  }
};

// Rounds a warp's part of C and stores it at (row, col): through shared memory, so that lanes write
// whole pieces of a row, 2 * kWarpN bytes, together. `staging` has room for the block's tile of C.
template <class T, bool kVectors>
__device__ void store_part(const float (&acc)[T::kPartsA][2 * T::kPartsB][4],
                           __nv_bfloat16* staging, __nv_bfloat16* c, int row, int col, int m,
                           int n) {
  const int lane = threadIdx.x % 32;
  staging += threadIdx.x / 32 * T::kWarpM * T::kWarpN;  // each warp has a place of its own
  // Each lane writes its pairs of neighbours where their chunk lies.
#pragma unroll
  for (int r = 0; r < T::kPartsA; ++r) {
#pragma unroll
    for (int s = 0; s < 2 * T::kPartsB; ++s) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        __nv_bfloat16* chunk =
            staging + kit::swizzled<T::kWarpN>(16 * r + 8 * half + lane / 4, 8 * s);
        *reinterpret_cast<std::uint32_t*>(chunk + lane % 4 * 2) =
            ptx::pack_bf16(acc[r][s][2 * half], acc[r][s][2 * half + 1]);
      }
    }
  }
  __syncwarp();

  // Neighbours read chunks of a row that lie side by side and write them together.
#pragma unroll
  for (int i = lane; i < T::kWarpM * T::kWarpN / 8; i += 32) {
    const int y = i / (T::kWarpN / 8), x = i % (T::kWarpN / 8) * 8;
    store_eight<kVectors>(
        c, row + y, col + x, m, n,
        *reinterpret_cast<const uint4*>(staging + kit::swizzled<T::kWarpN>(y, x)));
  }
}
#endif

}  // namespace matmul
