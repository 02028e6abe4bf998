// Philox4x32-10, a counter-based random number generator: Salmon, Moraes, Dror and Shaw, "Parallel
// random numbers: as easy as 1, 2, 3", SC 2011.
//
// It has no state. Number i is a function of i and a key, ten rounds of multiplying and mixing,
// much like a cipher. So any thread computes any number, in any order, and the same key gives the
// same numbers on one core, on many, and on a GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace pi {

struct Random4 {
  std::uint32_t v[4];
};

struct PhiloxKey {
  std::uint32_t v[2];
};

inline PhiloxKey philox_key(std::uint64_t seed) {
  return {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
}

// Constants of the paper: two multipliers, and two increments for the key (the golden ratio and
// sqrt(3) - 1, as 32-bit fractions).
constexpr std::uint32_t kPhiloxM0 = 0xD2511F53, kPhiloxM1 = 0xCD9E8D57;
constexpr std::uint32_t kPhiloxW0 = 0x9E3779B9, kPhiloxW1 = 0xBB67AE85;

// 128 random bits for a counter of 128 bits.
__host__ __device__ inline Random4 philox4x32_10(Random4 counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = static_cast<std::uint64_t>(kPhiloxM0) * counter.v[0];
    const std::uint64_t p1 = static_cast<std::uint64_t>(kPhiloxM1) * counter.v[2];
    counter = {{static_cast<std::uint32_t>(p1 >> 32) ^ counter.v[1] ^ key.v[0],
                static_cast<std::uint32_t>(p1),
                static_cast<std::uint32_t>(p0 >> 32) ^ counter.v[3] ^ key.v[1],
                static_cast<std::uint32_t>(p0)}};
    key.v[0] += kPhiloxW0;
    key.v[1] += kPhiloxW1;
  }
  return counter;
}

// Numbers 4 i .. 4 i + 3 of the sequence that belongs to the key: the counter is i.
__host__ __device__ inline Random4 philox_at(std::uint64_t i, PhiloxKey key) {
  return philox4x32_10({{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), 0, 0}},
                       key);
}

}  // namespace pi
