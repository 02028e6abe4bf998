// Problem A: the sum of n 16-bit samples, added up in one 64-bit cell that every thread wants.
#pragma once

#include <cstdint>

#include "common/compare.hpp"
#include "common/guarded_array.cuh"
#include "common/random.cuh"
#include "common/report.hpp"

struct OneCell {
  static constexpr const char* name = "one_cell";
  using Sample = std::uint16_t;
  using Total = unsigned long long;  // the 64-bit type that atomicAdd takes

  std::int64_t n;
  common::GuardedArray<Sample> x;
  common::GuardedArray<Total> total;  // one cell
  Total expected = 0;

  OneCell(std::int64_t n, std::uint64_t seed)
      : n(n), x("x", common::Role::input, n), total("total", common::Role::output, 1) {
    Total sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i) {
      x.pristine()[i] = static_cast<Sample>(common::random_bits(seed, i) >> 48);
      sum += x.pristine()[i];
    }
    expected = sum;
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
    visit(total);
  }

  // Integers add up to the same total in any order: the bound is 0. A double holds it exactly as
  // long as n is below 2^37.
  common::Comparison check() const { return common::compare(total.fetched(), &expected, 1, 0.0); }

  common::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return sizeof(Sample) * static_cast<double>(n); }
  double flops() const { return 0; }

  static double host_bytes(std::int64_t n) { return 2.0 * sizeof(Sample) * static_cast<double>(n); }
  static double device_bytes(std::int64_t n) { return sizeof(Sample) * static_cast<double>(n); }
};
