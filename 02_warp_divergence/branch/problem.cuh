// Problem B: a branch on data. y[i] = x[i] < 0 ? expensive_path(x[i]) : cheap_path(x[i]) for n
// floats, of which `percent` in a hundred are negative, on average, and come in runs of `run`.
#pragma once

#include <cmath>
#include <cstdint>

#include "02_warp_divergence/branch/kit/paths.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/kit/check.cuh"
#include "common/kit/host_buffer.hpp"
#include "common/kit/random.cuh"

namespace branch {

struct Branch {
  static constexpr const char* name = "branch";

  std::int64_t n;
  std::int64_t percent, run;
  bench::GuardedArray<float> x, y;
  // Scratch of the partitioned rung: places of the expensive elements, and how many there are.
  bench::GuardedArray<std::int64_t> places;
  bench::GuardedArray<unsigned long long> count;
  kit::HostBuffer<float> expected;
  std::int64_t expensive = 0;  // how many elements are

  // 0 <= percent <= 100; elements k * run to (k + 1) * run - 1 are all expensive or all cheap.
  Branch(std::int64_t n, std::int64_t percent, std::int64_t run, std::uint64_t seed)
      : n(n),
        percent(percent),
        run(run),
        x("x", bench::Role::input, n),
        y("y", bench::Role::output, n),
        places("places", bench::Role::output, n),
        count("count", bench::Role::output, 1),
        expected(n) {
    const double share = percent / 100.0;
    std::int64_t negative = 0;
#pragma omp parallel for schedule(static) reduction(+ : negative)
    for (std::int64_t i = 0; i < n; ++i) {
      const float size = std::fabs(kit::random_float(2 * seed, i));
      const double draw = 0.5 + 0.5 * kit::random_float(2 * seed + 1, i / run);  // in [0, 1)
      const float value = draw < share && size > 0 ? -size : size;
      x.pristine()[i] = value;
      expected[i] = is_expensive(value) ? expensive_path(value) : cheap_path(value);
      negative += is_expensive(value);
    }
    expensive = negative;
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
    visit(y);
    visit(places);
    visit(count);
  }

  // A multiply-add is rounded once, on a CPU as on a GPU: every variant must hit the same bits.
  bench::Comparison check() const { return bench::compare(y.fetched(), expected.data(), n, 0.0); }

  bench::Sizes sizes() const { return {{"n", n}, {"percent", percent}, {"run", run}}; }
  double bytes() const { return 2.0 * sizeof(float) * static_cast<double>(n); }
  double flops() const {
    return 2.0 *
           (static_cast<double>(n - expensive) + static_cast<double>(expensive) * kExpensiveSteps);
  }

  // What a run takes, for the check before anything is allocated.
  static bench::MemoryNeed memory(std::int64_t n) {
    return {(4.0 * sizeof(float) + sizeof(std::int64_t)) * static_cast<double>(n),
            (2.0 * sizeof(float) + sizeof(std::int64_t)) * static_cast<double>(n)};
  }
};

}  // namespace branch
