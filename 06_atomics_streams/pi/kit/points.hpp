// Which points of a pair hit; a pair is a function of its number and the key.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/pi/kit/philox.hpp"

namespace pi {

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

}  // namespace pi
