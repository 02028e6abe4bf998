// sequential: the loop.
//
// One core, one element after the other. Per element 8 bytes are read and 4 written for a single
// addition, so memory sets the pace, not arithmetic. The compiler already uses vector instructions
// here. What is still wrong: every other core is idle.
#pragma once

#include <cstdint>

namespace vector_add {

// y[i] = x[i] + y[i] for all i < n. Host pointers.
inline void vector_add_sequential(const float* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] + y[i];
}

}  // namespace vector_add
