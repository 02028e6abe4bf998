// openmp: the same loop, shared out over all cores.
//
// One line is new. The iterations do not depend on each other, so each thread takes one contiguous
// piece of the range. It gets faster with more cores, but less than in proportion, until the
// memory of the machine is busy. What is still wrong: an H200 has more than thirty times the
// memory bandwidth of the processor beside it.
#pragma once

#include <cstdint>

namespace vector_add {

// y[i] = x[i] + y[i] for all i < n. Host pointers. Uses omp_get_max_threads() threads.
inline void vector_add_openmp(const float* x, float* y, std::int64_t n) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] + y[i];
}

}  // namespace vector_add
