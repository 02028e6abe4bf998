// sequential: two loops.
//
// Every output needs 2 r + 1 inputs, and its neighbour needs all of them but one again. The caches
// of a CPU hold the window, so memory is read once. What is still wrong: the other cores are idle.
#pragma once

#include <cstdint>

namespace window {

// y[i] = sum of weights[k + radius] * x[i + k] for k = -radius .. radius, x = 0 outside. Host
// pointers.
inline void window_sequential(const float* x, const float* weights, float* y, std::int64_t n,
                              int radius) {
  for (std::int64_t i = 0; i < n; ++i) {
    float sum = 0;
    for (int k = -radius; k <= radius; ++k) {
      if (i + k >= 0 && i + k < n) sum += weights[k + radius] * x[i + k];
    }
    y[i] = sum;
  }
}

}  // namespace window
