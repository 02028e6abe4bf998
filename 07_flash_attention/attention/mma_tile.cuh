// How the rung for mma.sync cuts up its work, and how its tiles lie in shared memory.
#pragma once

#include <cuda_runtime.h>

template <int kD>
struct MmaTile {
  static constexpr int kWarpRows = kD == 256 ? 16 : 32;
  static constexpr int kWarps = kD == 256 ? 8 : 4;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kQueries = kWarpRows * kWarps;
  static constexpr int kKeys = kD == 64 ? 64 : 32;
  static constexpr int kBlocks = kD == 256 ? 1 : 2;  // that share an SM
  static constexpr int kSharedBytes = (kQueries + 4 * kKeys) * kD * 2;
};

// Where the 16-byte piece of row `row` lies in a tile of kD columns: rows that a warp reads
// together differ in row % 8, and so in their banks.
template <int kD>
__device__ inline int swizzled_piece(int row, int piece) {
  return row * (kD / 8) + (piece ^ (row % 8));
}

__device__ inline float (&four(float* registers))[4] {
  return *reinterpret_cast<float(*)[4]>(registers);
}
