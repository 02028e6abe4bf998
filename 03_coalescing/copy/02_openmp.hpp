// openmp: each core copies one contiguous piece.
//
// That is the right way to share out a loop on a CPU: every core walks through its own piece in
// order, uses each line it fetches, and shares none with the others. Remember the picture, one
// contiguous piece per thread. The next rung carries it over to a GPU, where it is wrong.
#pragma once

#include <cstdint>

namespace coalesced_copy {

// y[i] = x[i] for all i < n. Host pointers. Uses omp_get_max_threads() threads.
inline void copy_openmp(const float* x, float* y, std::int64_t n) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i];
}

}  // namespace coalesced_copy
