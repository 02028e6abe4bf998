// The problem: y[i] = x[0] + ... + x[i] for n floats, the inclusive prefix sum or scan.
#pragma once

#include <algorithm>
#include <cstdint>

#include "05_reduction/kit/operators.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/kit/host_buffer.hpp"

namespace scan {

struct Scan {
  static constexpr const char* name = "scan";

  std::int64_t n;
  bench::GuardedArray<float> x, y;
  // What rungs work in, so that they need not allocate. The totals may hold anything when a rung
  // starts. The states of the tiles and the counters are 0, and whoever uses them leaves them so.
  bench::GuardedArray<float> totals;
  bench::GuardedArray<std::uint64_t> states;
  bench::GuardedArray<unsigned> counters;
  kit::HostBuffer<float> expected;

  Scan(std::int64_t n, std::uint64_t seed)
      : n(n),
        x("x", bench::Role::input, n),
        y("y", bench::Role::output, n),
        totals("totals", bench::Role::output, tiles_for(n)),
        states("states", bench::Role::input, tiles_for(n)),
        counters("counters", bench::Role::input, 2),
        expected(n) {
    std::fill_n(states.pristine(), states.size(), 0);
    std::fill_n(counters.pristine(), counters.size(), 0);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i) x.pristine()[i] = reduction::random_eighth(seed, i);
    std::int64_t eighths = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      eighths += static_cast<std::int64_t>(8 * x.pristine()[i]);
      expected[i] = static_cast<float>(eighths) / 8;
    }
  }

  // One per 1024 elements, the smallest tile of any rung, and one to spare.
  static std::int64_t tiles_for(std::int64_t n) { return n / 1024 + 1; }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
    visit(y);
    visit(totals);
    visit(states);
    visit(counters);
  }

  // Equality at every element: all sums are exact, in whatever order (see random_eighth).
  bench::Comparison check() const { return bench::compare(y.fetched(), expected.data(), n, 0.0); }

  bench::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return 2.0 * sizeof(float) * static_cast<double>(n); }  // read and write
  double flops() const { return static_cast<double>(n); }

  // What a run takes, for the check before anything is allocated.
  static bench::MemoryNeed memory(std::int64_t n) {
    return {4.1 * sizeof(float) * static_cast<double>(n),
            2.1 * sizeof(float) * static_cast<double>(n)};
  }
};

}  // namespace scan
