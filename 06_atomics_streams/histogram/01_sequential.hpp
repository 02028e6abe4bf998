// sequential: read a byte, count it.
//
// Each count is a load, an addition and a store to an address that the data decides. When the same
// value comes again at once, the processor must wait for its own store: a constant input is slower
// than a random one. What is still wrong: every other core is idle, and they cannot simply join in,
// because two of them may want the same counter.
#pragma once

#include <algorithm>
#include <cstdint>

namespace histogram {

// counts[v] = how often v occurs in x[0 .. n), for all 256 values. Host pointers.
inline void histogram_sequential(const unsigned char* x, std::int64_t n, unsigned* counts) {
  std::fill(counts, counts + 256, 0u);
  for (std::int64_t i = 0; i < n; ++i) ++counts[x[i]];
}

}  // namespace histogram
