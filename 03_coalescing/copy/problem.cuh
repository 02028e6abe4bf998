// Problem A: y = x for n floats. Nothing is computed, so nothing but the access pattern can matter.
#pragma once

#include <cstdint>

#include "common/compare.hpp"
#include "common/guarded_array.cuh"
#include "common/random.cuh"
#include "common/report.hpp"

struct Copy {
  static constexpr const char* name = "copy";

  std::int64_t n;
  common::GuardedArray<float> x, y;

  Copy(std::int64_t n, std::uint64_t seed)
      : n(n), x("x", common::Role::input, n), y("y", common::Role::output, n) {
    common::fill_random(x.pristine(), n, seed);
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
    visit(y);
  }

  common::Comparison check() const { return common::compare(y.fetched(), x.pristine(), n, 0.0); }

  common::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return 2.0 * sizeof(float) * static_cast<double>(n); }
  double flops() const { return 0; }

  // For the check before anything is allocated: x pristine and working, y working, and what a sweep
  // expects; x and y.
  static double host_bytes(std::int64_t n) { return 4.0 * sizeof(float) * static_cast<double>(n); }
  static double device_bytes(std::int64_t n) {
    return 2.0 * sizeof(float) * static_cast<double>(n);
  }
};
