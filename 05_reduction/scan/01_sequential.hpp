// sequential: the loop.
//
// n - 1 additions, each of which needs the result of the one before: this looks like the very
// thing that cannot be done in parallel. What makes it possible all the same is that addition is
// associative: a stretch can be summed before one knows what comes in front of it.
// What is still wrong: one core works.
#pragma once

#include <cstdint>

namespace scan {

// y[i] = x[0] + ... + x[i] for all i < n. Host pointers.
inline void scan_sequential(const float* x, float* y, std::int64_t n) {
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    sum += x[i];
    y[i] = sum;
  }
}

}  // namespace scan
