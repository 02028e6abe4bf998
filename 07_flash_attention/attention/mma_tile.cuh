// How the rung for mma.sync cuts up its work, and how its tiles lie in shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/ptx_mma.cuh"

template <int kD>
struct MmaTile {
  static constexpr int kWarpRows = kD == 256 ? 16 : 32;
  static constexpr int kWarps = kD == 256 ? 8 : 4;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kQueries = kWarpRows * kWarps;
  static constexpr int kKeys = kD == 256 ? 32 : 64;
  static constexpr int kBlocks = kD == 256 ? 1 : 2;  // that share an SM
  static constexpr int kSharedBytes = (kQueries + 4 * kKeys) * kD * 2;
};

// Where the 16-byte piece of row `row` lies in a tile of kD columns: rows that a warp reads
// together differ in row % 8, and so in their banks.
template <int kD>
__device__ inline int swizzled_piece(int row, int piece) {
  return row * (kD / 8) + (piece ^ (row % 8));
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// A thread's part in copying rows of kD elements into a tile: the same piece of rows kPass apart,
// so that all its addresses are a constant away from the first.
template <int kD, int kThreads>
struct RowCopier {
  static constexpr int kPieces = kD / 8, kPass = kThreads / kPieces;
  static_assert(kPass % 8 == 0, "a thread's rows are swizzled alike");
  int row = threadIdx.x / kPieces, piece = threadIdx.x % kPieces;
  int place = swizzled_piece<kD>(row, piece);

  // Orders kRows rows from row `first` of a head with n rows; zeros after the last, if they may
  // end there (std::true_type).
  template <int kRows, class T, class MayEnd>
  __device__ void order(uint4* tile, const T* heads, std::int64_t head, int first, int n,
                        MayEnd) const {
    const auto* source = reinterpret_cast<const uint4*>(heads + (head * n + first + row) * kD);
#pragma unroll
    for (int i = 0; i < kRows; i += kPass) {
      const bool inside = !MayEnd::value || first + row + i < n;
      ptx::cp_async_16(tile + place + i * kPieces, source + piece + i * kPieces, inside);
    }
  }
};

// Copies kRows rows of a tile, from row `tile_row` on, to row `first` of a head with n rows, whose
// address is `to`; none after the last. By one warp.
template <int kD, int kRows, class T>
__device__ inline void copy_rows(T* to, int first, int n, const uint4* tile, int tile_row) {
  constexpr int kPieces = kD / 8;
#pragma unroll
  for (int i = threadIdx.x % 32; i < kRows * kPieces; i += 32) {
    const int row = i / kPieces;
    if (first + row >= n) break;
    reinterpret_cast<uint4*>(to)[i] = tile[swizzled_piece<kD>(tile_row + row, i % kPieces)];
  }
}
#endif

__device__ inline float (&four(float* registers))[4] {
  return *reinterpret_cast<float(*)[4]>(registers);
}
