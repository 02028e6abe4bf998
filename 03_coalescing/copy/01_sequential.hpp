// sequential: the loop.
//
// One core walks through memory in the order in which it lies there, and the compiler makes each
// step as wide as its vector instructions are. A CPU core fetches whole cache lines of 64 bytes
// and uses every byte of them. What is still wrong: the other cores are idle.
#pragma once

#include <cstdint>

namespace coalesced_copy {

// y[i] = x[i] for all i < n. Host pointers.
inline void copy_sequential(const float* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i];
}

}  // namespace coalesced_copy
