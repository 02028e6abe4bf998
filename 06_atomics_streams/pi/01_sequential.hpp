// Rung 1, sequential: throw a point, see where it fell, n times.
//
// One call of the generator gives 128 random bits: two points with coordinates of 32 bits. A point
// is in the quarter circle if x^2 + y^2 < 2^64, and that is exact in integers: the sum passes 2^64
// just when adding wraps round. The error falls with the square root of n: a hundred times the
// points for one more digit. What is still wrong: points do not depend on each other, and one core
// throws.
#pragma once

#include <cstdint>

#include "06_atomics_streams/pi/philox.hpp"

// 1 if the point (x / 2^32, y / 2^32) lies in the quarter circle of radius 1.
__host__ __device__ inline unsigned is_hit(std::uint32_t x, std::uint32_t y) {
  const std::uint64_t xx = static_cast<std::uint64_t>(x) * x;
  const std::uint64_t yy = static_cast<std::uint64_t>(y) * y;
  return xx + yy >= xx;  // no carry out of 64 bits
}

// Hits among the points 2 * pair and 2 * pair + 1, as far as they are below n.
__host__ __device__ inline unsigned hits_of_pair(std::int64_t pair, std::int64_t n, PhiloxKey key) {
  const Random4 r = philox_at(static_cast<std::uint64_t>(pair), key);
  const unsigned second = 2 * pair + 1 < n ? is_hit(r.v[2], r.v[3]) : 0;
  return is_hit(r.v[0], r.v[1]) + second;
}

// How many of n points hit.
inline unsigned long long pi_sequential(std::int64_t n, std::uint64_t seed) {
  const PhiloxKey key = philox_key(seed);
  unsigned long long hits = 0;
  for (std::int64_t pair = 0; 2 * pair < n; ++pair) hits += hits_of_pair(pair, n, key);
  return hits;
}
