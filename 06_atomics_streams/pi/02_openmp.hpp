// openmp: the cores share the points out, and the answer stays the same.
//
// With an ordinary generator, whose next number follows from the last, each thread would need a
// state and a seed of its own, and the answer would depend on the number of threads. Here pair i is
// pair i, whoever computes it: the hits are the same to the last one. What is still wrong: about a
// hundred integer operations a pair, and a GPU does thousands at once.
#pragma once

#include <cstdint>

#include "06_atomics_streams/pi/kit/philox.hpp"
#include "06_atomics_streams/pi/kit/points.hpp"

namespace pi {

// How many of n points hit.
inline unsigned long long pi_openmp(std::int64_t n, std::uint64_t seed) {
  const PhiloxKey key = philox_key(seed);
  const std::int64_t pairs = n / 2 + n % 2;
  unsigned long long hits = 0;
#pragma omp parallel for schedule(static) reduction(+ : hits)
  for (std::int64_t pair = 0; pair < pairs; ++pair) hits += hits_of_pair(pair, n, key);
  return hits;
}

}  // namespace pi
