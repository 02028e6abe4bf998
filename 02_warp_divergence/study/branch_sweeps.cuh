// --sweep percent and --sweep run: how the data decides between the ways to treat a branch.
// --sweep steps: from which length of its body on an `if` becomes a branch.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <vector>

#include "02_warp_divergence/branch/problem.cuh"
#include "02_warp_divergence/study/predication.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"

namespace branch {

// Median milliseconds of every rung on the device for each share of expensive elements, or each
// length of their runs.
inline bench::Shown sweep_data(const bench::RunSettings& run, const bench::Settings& settings,
                               const std::vector<bench::Variant<Branch>>& variants,
                               const std::string& what, const std::vector<std::int64_t>& values) {
  std::vector<bench::Variant<Branch>> rungs;
  bench::Sweep sweep{Branch::name, what, {what}, {}};
  for (const auto& variant : variants) {
    if (variant.place != bench::Place::device || variant.kind != bench::Kind::rung) continue;
    rungs.push_back(variant);
    sweep.columns.push_back(variant.name);
  }
  if (rungs.empty()) return {};
  for (const std::int64_t value : values) {
    Branch problem(settings["n"], what == "percent" ? value : settings["percent"],
                   what == "run" ? value : settings["run"], run.seed);
    std::vector<double> point = bench::time_sweep(run, problem, rungs);
    point.insert(point.begin(), static_cast<double>(value));
    sweep.points.push_back(point);
  }
  return {sweep};
}

inline bench::Shown sweep_percent(const bench::RunSettings& run, const bench::Settings& settings,
                                  const std::vector<bench::Variant<Branch>>& variants) {
  return sweep_data(run, settings, variants, "percent", {0, 1, 2, 5, 10, 20, 50, 100});
}

inline bench::Shown sweep_run(const bench::RunSettings& run, const bench::Settings& settings,
                              const std::vector<bench::Variant<Branch>>& variants) {
  return sweep_data(run, settings, variants, "run", {1, 2, 4, 8, 16, 32, 64, 256, 1024});
}

// Cycles of an `if` and of a choice, by the length of what stands in it: study/predication.cuh.
inline bench::Shown sweep_steps(const bench::RunSettings&, const bench::Settings&,
                                const std::vector<bench::Variant<Branch>>&) {
  bench::Sweep sweep{Branch::name, "steps", {"steps", "if_0", "if_1", "if_32", "select"}, {}};
  add_predication_point<1>(sweep);
  add_predication_point<2>(sweep);
  add_predication_point<4>(sweep);
  add_predication_point<8>(sweep);
  add_predication_point<16>(sweep);
  add_predication_point<32>(sweep);
  add_predication_point<64>(sweep);
  return {sweep};
}

}  // namespace branch
