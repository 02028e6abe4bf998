// openmp: the same loop, shared out over all cores.
//
// Each core has its own instruction stream, so one that meets an expensive element keeps nobody
// else waiting. That is the difference to what comes next. What is still wrong: there are few
// cores; a GPU has thousands of lanes, but 32 of them share one instruction stream.
#pragma once

#include <cstdint>

#include "02_warp_divergence/branch/kit/paths.cuh"

namespace branch {

// y[i] = x[i] < 0 ? expensive_path(x[i]) : cheap_path(x[i]) for all i < n. Host pointers. Uses
// omp_get_max_threads() threads.
inline void branch_openmp(const float* x, float* y, std::int64_t n) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < n; ++i) {
    if (is_expensive(x[i])) {
      y[i] = expensive_path(x[i]);
    } else {
      y[i] = cheap_path(x[i]);
    }
  }
}

}  // namespace branch
