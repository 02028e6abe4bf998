// A maximum of floats, from the integer maximum and minimum of the hardware.
#pragma once

#include <cuda_runtime.h>

namespace float_max {

// *cell = max(*cell, value), atomically, with 0.0 above -0.0. Neither may be NaN.
__device__ inline void atomic_max_by_bits(float* cell, float value) {
  const int bits = __float_as_int(value);
  if (bits >= 0) {
    atomicMax(reinterpret_cast<int*>(cell), bits);
  } else {
    atomicMin(reinterpret_cast<unsigned*>(cell), static_cast<unsigned>(bits));
  }
}

}  // namespace float_max
