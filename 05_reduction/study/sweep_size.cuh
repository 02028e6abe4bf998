// --sweep size: from which n on does which way pay?
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"

namespace reduction {

// Gigabytes a second of the variants tagged "size" that can run here, for 2^16, 2^18, ... elements,
// up to n.
template <class Problem>
bench::Shown sweep_size(const bench::RunSettings& run, const bench::Settings& settings,
                        const std::vector<bench::Variant<Problem>>& variants) {
  const bench::WorkStream stream(run.device);
  Problem smallest(1, 1);
  std::vector<bench::Variant<Problem>> compared;
  bench::Sweep sweep{Problem::name, "size", {"n"}, {}};
  for (const auto& variant : variants) {
    if (std::find(variant.tags.begin(), variant.tags.end(), "size") == variant.tags.end()) continue;
    const auto verdict = bench::verify(smallest, variant, run.device, stream.get());
    if (verdict.status == bench::Status::skipped) continue;
    compared.push_back(variant);
    sweep.columns.push_back(variant.name);
  }
  if (compared.empty()) return {};
  for (std::int64_t n = 1 << 16; n <= settings["n"]; n *= 4) {
    Problem problem(n, run.seed);
    std::vector<double> point = {static_cast<double>(n)};
    for (const double ms : bench::time_sweep(run, problem, compared)) {
      point.push_back(problem.bytes() / (1e6 * ms));
    }
    sweep.points.push_back(point);
  }
  return {sweep};
}

}  // namespace reduction
