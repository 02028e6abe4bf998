// sequential: the loop with its branch.
//
// One core. It predicts the branch, and since nearly all elements are cheap it is nearly always
// right; an expensive element costs it 256 steps that wait for each other. What is still wrong:
// every other core is idle.
#pragma once

#include <cstdint>

#include "02_warp_divergence/branch/kit/paths.cuh"

namespace branch {

// y[i] = x[i] < 0 ? expensive_path(x[i]) : cheap_path(x[i]) for all i < n. Host pointers.
inline void branch_sequential(const float* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (is_expensive(x[i])) {
      y[i] = expensive_path(x[i]);
    } else {
      y[i] = cheap_path(x[i]);
    }
  }
}

}  // namespace branch
