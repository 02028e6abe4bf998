// sequential: the loop.
//
// One core, one running sum. Each addition waits for the one before, about four cycles, and the
// compiler may not regroup them, because float addition in another order rounds to another number.
// So not even the vector units help. What is still wrong: every other core is idle.
#pragma once

#include <cstdint>

namespace reduction {

// x[0] + ... + x[n - 1]. Host pointer.
inline float sum_sequential(const float* x, std::int64_t n) {
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

}  // namespace reduction
