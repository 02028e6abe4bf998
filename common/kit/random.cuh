// SPDX-License-Identifier: MIT
// Random input that any thread, on CPU or GPU, can compute for any index: no state, no order.
//
// Numbers are signed and never constant. Zeros hide errors and even change timings: a product of
// zeros draws less power, so it runs faster than a product of data.
#pragma once

#include <cstdint>

namespace kit {

// Bits of the `index`-th number of stream `seed`: SplitMix64's output function (Steele, Lea and
// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014) applied to a counter.
__host__ __device__ inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed * 0xD1342543DE82EF95u + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Uniform in [-1, 1): the top 24 bits, the precision of a float, scaled exactly.
__host__ __device__ inline float random_float(std::uint64_t seed, std::uint64_t index) {
  return static_cast<float>(random_bits(seed, index) >> 40) * (2.0f / 16777216.0f) - 1.0f;
}

// Fills host memory with random_float(seed, 0 .. count - 1), using all cores.
template <class T>
void fill_random(T* data, std::int64_t count, std::uint64_t seed) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) data[i] = static_cast<T>(random_float(seed, i));
}

}  // namespace kit
