// The problem: n affine maps f_i(v) = a_i v + b_i, one after the other, make one affine map. Which?
//
// Doing one map after the other is associative but not commutative: first doubling and then adding
// 1 is not first adding 1 and then doubling. Arithmetic is that of 32-bit words, modulo 2^32, which
// never rounds, so there is one right answer. (With all maps equal this is how to jump n steps
// ahead in a linear congruential random generator.)
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/affine/kit/affine_map.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/kit/random.cuh"

namespace affine {

struct Affine {
  static constexpr const char* name = "affine";

  std::int64_t n;
  bench::GuardedArray<AffineMap> maps;
  bench::GuardedArray<AffineMap> result;
  bench::GuardedArray<AffineMap> partials;  // what rungs work in; may hold anything
  AffineMap expected = identity_map();

  Affine(std::int64_t n, std::uint64_t seed)
      : n(n),
        maps("maps", bench::Role::input, n),
        result("result", bench::Role::output, 1),
        partials("partials", bench::Role::output, n / 1024 + 64) {
    AffineMap* to = maps.pristine();
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint64_t bits = kit::random_bits(seed, i);
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

  bench::Comparison check() const {
    return bench::compare(&result.fetched()->a, &expected.a, 2, 0.0);
  }

  bench::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return sizeof(AffineMap) * static_cast<double>(n); }
  double flops() const { return 0; }  // integers

  static bench::MemoryNeed memory(std::int64_t n) {
    return {2.1 * sizeof(AffineMap) * static_cast<double>(n),
            1.1 * sizeof(AffineMap) * static_cast<double>(n)};
  }
};

}  // namespace affine
