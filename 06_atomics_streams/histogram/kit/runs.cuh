// 16 equal bytes counted at once.
#pragma once

#include <cuda_runtime.h>

#include "06_atomics_streams/histogram/kit/lane_columns.cuh"

namespace histogram {

// True if all 16 bytes are the same: four equal words, and a word that survives rotation by a byte.
__device__ inline bool is_one_byte_repeated(uint4 piece) {
  return piece.x == piece.y && piece.x == piece.z && piece.x == piece.w &&
         piece.x == (piece.x << 8 | piece.x >> 24);
}

struct CountRuns {
  __device__ __forceinline__ static void take(uint4 piece, unsigned* column) {
    if (is_one_byte_repeated(piece)) {
      atomicAdd(&column[32 * (piece.x & 0xff)], 16u);
    } else {
      CountBytes::take(piece, column);
    }
  }
};

}  // namespace histogram
