// sequential: two assignments, one after the other.
//
// Between them the record is half new and half old. On one core nobody can look at that moment.
// With many threads the pair of assignments is a critical section: code that one thread at a time
// may be in. What is still wrong: the threads of a GPU have nothing that keeps each other out.
#pragma once

#include <cstdint>
#include <limits>

namespace lock {

// *largest = the largest of x[0 .. n), *index = its first place. Host pointers; n > 0, no NaN.
inline void lock_sequential(const float* x, std::int64_t n, float* largest, unsigned* index) {
  *largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < n; ++i) {
    if (x[i] > *largest) {
      *largest = x[i];
      *index = static_cast<unsigned>(i);
    }
  }
}

}  // namespace lock
