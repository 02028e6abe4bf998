// The problem: n affine maps f_i(v) = a_i v + b_i, one after the other, make one affine map. Which?
//
// Doing one map after the other is associative but not commutative: first doubling and then adding
// 1 is not first adding 1 and then doubling. Arithmetic is that of 32-bit words, modulo 2^32, which
// never rounds, so there is one right answer. (With all maps equal this is how to jump n steps
// ahead in a linear congruential random generator.)
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/compare.hpp"
#include "common/guarded_array.cuh"
#include "common/random.cuh"
#include "common/report.hpp"

struct AffineMap {  // v -> a v + b
  std::uint32_t a, b;
};

__host__ __device__ inline AffineMap identity_map() { return {1, 0}; }

// `first`, and then `second`: second(first(v)).
__host__ __device__ inline AffineMap then(AffineMap first, AffineMap second) {
  return {second.a * first.a, second.a * first.b + second.b};
}

struct Affine {
  static constexpr const char* name = "affine";

  std::int64_t n;
  common::GuardedArray<AffineMap> maps;
  common::GuardedArray<AffineMap> result;
  common::GuardedArray<AffineMap> partials;  // what rungs work in; may hold anything
  AffineMap expected = identity_map();

  Affine(std::int64_t n, std::uint64_t seed)
      : n(n),
        maps("maps", common::Role::input, n),
        result("result", common::Role::output, 1),
        partials("partials", common::Role::output, n / 1024 + 64) {
    AffineMap* to = maps.pristine();
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint64_t bits = common::random_bits(seed, i);
      // a is odd, so no map forgets its argument and none can be left out unnoticed.
      to[i] = {static_cast<std::uint32_t>(bits) | 1, static_cast<std::uint32_t>(bits >> 32)};
    }
    for (std::int64_t i = 0; i < n; ++i) expected = then(expected, to[i]);
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(maps);
    visit(result);
    visit(partials);
  }

  common::Comparison check() const {
    return common::compare(&result.fetched()->a, &expected.a, 2, 0.0);
  }

  common::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return sizeof(AffineMap) * static_cast<double>(n); }
  double flops() const { return 0; }  // integers

  static double host_bytes(std::int64_t n) {
    return 2.1 * sizeof(AffineMap) * static_cast<double>(n);
  }
  static double device_bytes(std::int64_t n) {  // the peer writes all prefixes
    return 2.1 * sizeof(AffineMap) * static_cast<double>(n);
  }
};
