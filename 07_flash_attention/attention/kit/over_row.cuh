// What the threads that share a row have to agree on: its maximum and its sum.
#pragma once

#include <cuda_runtime.h>

namespace attention {

// The maximum, or the sum, over the kRowThreads neighbouring lanes of a row; all of them get it.
template <bool kOfSum, int kRowThreads>
__device__ float over_row(float value) {
  for (int step = kRowThreads / 2; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(0xffffffff, value, step);
    value = kOfSum ? value + other : fmaxf(value, other);
  }
  return value;
}

}  // namespace attention
