// sequential: throw a point, see where it fell, n times.
//
// One call of the generator gives 128 random bits: two points with coordinates of 32 bits. A point
// is in the quarter circle if x^2 + y^2 < 2^64, and that is exact in integers: the sum passes 2^64
// just when adding wraps round. The error falls with the square root of n: a hundred times the
// points for one more digit. What is still wrong: points do not depend on each other, and one core
// throws.
#pragma once

#include <cstdint>

#include "06_atomics_streams/pi/kit/philox.hpp"
#include "06_atomics_streams/pi/kit/points.hpp"

namespace pi {

// How many of n points hit.
inline unsigned long long pi_sequential(std::int64_t n, std::uint64_t seed) {
  const PhiloxKey key = philox_key(seed);
  unsigned long long hits = 0;
  for (std::int64_t pair = 0; 2 * pair < n; ++pair) hits += hits_of_pair(pair, n, key);
  return hits;
}

}  // namespace pi
