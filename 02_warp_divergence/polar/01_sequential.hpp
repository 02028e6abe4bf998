// sequential: the loop.
//
// One core, one angle after the other: 4 bytes read, 8 written, and a cosine and a sine to compute,
// some 45 operations. For a CPU core it is the arithmetic that takes the time. What is still
// wrong: every other core is idle.
#pragma once

#include <cmath>
#include <cstdint>

namespace polar {

// z[2i] = cos(phi[i]), z[2i + 1] = sin(phi[i]) for all i < n. Host pointers, angles in radians.
inline void polar_sequential(const float* phi, float* z, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    z[2 * i] = cosf(phi[i]);
    z[2 * i + 1] = sinf(phi[i]);
  }
}

}  // namespace polar
