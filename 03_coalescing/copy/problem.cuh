// Problem A: y = x for n floats. Nothing is computed, so nothing but the access pattern can matter.
#pragma once

#include <cstdint>

#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/kit/random.cuh"

namespace coalesced_copy {

struct Copy {
  static constexpr const char* name = "copy";

  std::int64_t n;
  bench::GuardedArray<float> x, y;

  Copy(std::int64_t n, std::uint64_t seed)
      : n(n), x("x", bench::Role::input, n), y("y", bench::Role::output, n) {
    kit::fill_random(x.pristine(), n, seed);
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
    visit(y);
  }

  bench::Comparison check() const { return bench::compare(y.fetched(), x.pristine(), n, 0.0); }

  bench::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return 2.0 * sizeof(float) * static_cast<double>(n); }
  double flops() const { return 0; }

  // For the check before anything is allocated: x pristine and working, y working, and what a sweep
  // expects; x and y.
  static bench::MemoryNeed memory(std::int64_t n) {
    return {4.0 * sizeof(float) * static_cast<double>(n),
            2.0 * sizeof(float) * static_cast<double>(n)};
  }
};

}  // namespace coalesced_copy
