// openmp: one running sum per core, added up at the end.
//
// `reduction(+ : sum)` gives every thread a private sum that starts at 0 and adds the private sums
// when the loop is over. Without it the threads would race for one variable. `simd` allows
// what the standard forbids: several running sums per core, one per lane of the vector unit, so
// that memory sets the pace. What is still wrong: a GPU reads its memory many times as fast.
#pragma once

#include <cstdint>

namespace reduction {

// x[0] + ... + x[n - 1], in another order than the loop. Host pointer.
inline float sum_openmp(const float* x, std::int64_t n) {
  float sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

}  // namespace reduction
