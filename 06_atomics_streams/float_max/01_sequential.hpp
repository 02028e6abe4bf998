// sequential: keep the largest so far.
//
// The comparison and the assignment belong together: between them nobody may change `largest`. On
// one core nobody does. What is still wrong: a GPU has atomicMax for integers, none for floats.
#pragma once

#include <cstdint>
#include <limits>

namespace float_max {

// The largest of x[0 .. n), minus infinity if there is none. Host pointer; no NaN among x.
inline float float_max_sequential(const float* x, std::int64_t n) {
  float largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

}  // namespace float_max
