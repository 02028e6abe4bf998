// A computation that is exact, and as long as one likes.
#pragma once

#include <cuda_runtime.h>

namespace atomics_streams {

// One round of Marsaglia's xorshift generator ("Xorshift RNGs", J. Stat. Software 8 (14), 2003).
// Stands for any computation: exact, and as long as one likes.
__host__ __device__ inline unsigned xorshift(unsigned v) {
  v ^= v << 13;
  v ^= v >> 17;
  return v ^ v << 5;
}

}  // namespace atomics_streams
