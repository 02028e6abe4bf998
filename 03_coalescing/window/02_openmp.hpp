// openmp: the outer loop, shared out over all cores.
//
// Outputs do not depend on each other; pieces meet at their ends only, where both read the same few
// inputs. What is still wrong: a GPU has more of everything. The next rung starts one thread per
// output.
#pragma once

#include <cstdint>

namespace window {

// y[i] = sum of weights[k + radius] * x[i + k] for k = -radius .. radius, x = 0 outside. Host
// pointers.
inline void window_openmp(const float* x, const float* weights, float* y, std::int64_t n,
                          int radius) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < n; ++i) {
    float sum = 0;
    for (int k = -radius; k <= radius; ++k) {
      if (i + k >= 0 && i + k < n) sum += weights[k + radius] * x[i + k];
    }
    y[i] = sum;
  }
}

}  // namespace window
