// --sweep bins: what contention costs. The same number of bytes with fewer and fewer distinct
// values: 256 queues, then 128, at last one.
#pragma once

#include <cstdint>
#include <vector>

#include "06_atomics_streams/histogram/variants.cuh"
#include "common/harness.cuh"
#include "common/program.cuh"

// Milliseconds of each device row of `variants` for 256, 128, ... 1 distinct values.
inline void sweep_bins(common::Program& program, std::int64_t n,
                       const std::vector<common::Variant<Histogram>>& variants) {
  std::vector<common::Variant<Histogram>> timed;
  common::Sweep sweep{Histogram::name, "bins", {"bins"}, {}};
  for (const auto& variant : variants) {
    if (variant.place != common::Place::device || !variant.needs.missing.empty()) continue;
    timed.push_back(variant);
    sweep.columns.push_back(variant.name);
  }
  for (int distinct = kBins; distinct >= 1; distinct /= 2) {
    Histogram problem(n, program.seed(), HistogramInput::uniform, distinct);
    std::vector<double> point = common::time_sweep(program, problem, timed);
    point.insert(point.begin(), distinct);
    sweep.points.push_back(point);
  }
  program.add(sweep);
}
