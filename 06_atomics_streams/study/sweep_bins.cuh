// --sweep bins: what contention costs. The same number of bytes with fewer and fewer distinct
// values: 256 queues, then 128, at last one.
#pragma once

#include <cstdint>
#include <vector>

#include "06_atomics_streams/histogram/kit/bins.hpp"
#include "06_atomics_streams/histogram/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"

namespace histogram {

// Milliseconds of each device row of `variants` for 256, 128, ... 1 distinct values.
inline bench::Shown sweep_bins(const bench::RunSettings& run, const bench::Settings& settings,
                               const std::vector<bench::Variant<Histogram>>& variants) {
  std::vector<bench::Variant<Histogram>> timed;
  bench::Sweep sweep{Histogram::name, "bins", {"bins"}, {}};
  for (const auto& variant : variants) {
    if (variant.place != bench::Place::device || !variant.needs.missing.empty()) continue;
    timed.push_back(variant);
    sweep.columns.push_back(variant.name);
  }
  if (timed.empty()) return {};
  for (int distinct = kBins; distinct >= 1; distinct /= 2) {
    Histogram problem(settings["n"], run.seed, HistogramInput::uniform, distinct);
    std::vector<double> point = bench::time_sweep(run, problem, timed);
    point.insert(point.begin(), distinct);
    sweep.points.push_back(point);
  }
  return {sweep};
}

}  // namespace histogram
