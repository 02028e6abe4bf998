// What a reduction needs to know about its operator, and the three operators of this chapter's
// sums.
//
// An operator is a struct of static functions:
//   Value               what is combined; trivially copyable
//   identity()          the value that changes nothing; the result for n = 0
//   lift(x, i)          element i of the input, as a Value
//   combine(a, b)       associative. Here also commutative, which affine/ does without
//   input(seed, i)      element i of the test input
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "common/kit/random.cuh"

namespace reduction {

// One of -1, -7/8, ... -1/8, 1/8, ... 7/8, 1. Sums of such numbers are multiples of 1/8, and a
// float holds those exactly up to 2^21. A random sum of n of them strays by about 0.6 sqrt(n): 2^14
// for 2^30 of them. So no order of additions rounds, every right sum has the same bits, and the
// check asks for equality: one element left out or taken twice shows, which no tolerance
// guarantees.
__host__ __device__ inline float random_eighth(std::uint64_t seed, std::uint64_t i) {
  const std::uint64_t bits = kit::random_bits(seed, i);
  const float magnitude = static_cast<float>((bits >> 60 & 7) + 1) / 8;
  return bits >> 63 != 0 ? -magnitude : magnitude;
}

// a + b. Float addition is not quite associative: every order rounds in its own way.
struct Plus {
  using Value = float;
  static constexpr const char* name = "sum";
  __host__ __device__ static Value identity() { return 0; }
  __host__ __device__ static Value lift(float x, std::int64_t) { return x; }
  __host__ __device__ static Value combine(Value a, Value b) { return a + b; }
  static float input(std::uint64_t seed, std::uint64_t i) { return random_eighth(seed, i); }
};

// The larger of a and b. Inputs must not be NaN.
struct Max {
  using Value = float;
  static constexpr const char* name = "max";
  __host__ __device__ static Value identity() { return -INFINITY; }
  __host__ __device__ static Value lift(float x, std::int64_t) { return x; }
  __host__ __device__ static Value combine(Value a, Value b) { return a < b ? b : a; }
  static float input(std::uint64_t seed, std::uint64_t i) { return kit::random_float(seed, i); }
};

// Aligned to its size, so that it moves in one piece.
struct alignas(16) Indexed {
  float value;
  std::int64_t index;
};

// The largest element and where it is. Of equal ones the first wins: without such a rule the answer
// would depend on the order of the combinations, and that order is ours to choose.
struct ArgMax {
  using Value = Indexed;
  static constexpr const char* name = "argmax";
  __host__ __device__ static Value identity() { return {-INFINITY, INT64_MAX}; }
  __host__ __device__ static Value lift(float x, std::int64_t i) { return {x, i}; }
  __host__ __device__ static Value combine(Value a, Value b) {
    const bool b_wins = b.value > a.value || (b.value == a.value && b.index < a.index);
    return b_wins ? b : a;
  }
  static float input(std::uint64_t seed, std::uint64_t i) { return kit::random_float(seed, i); }
};

}  // namespace reduction
