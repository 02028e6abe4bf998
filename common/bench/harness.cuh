// Runs the variants of a problem side by side: first proves each right (verify.cuh), then times it
// (time_variants.cuh), proves it right again, and works out its figures (figures.cuh).
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "common/bench/figures.cuh"
#include "common/bench/options.hpp"
#include "common/bench/report.hpp"
#include "common/bench/run_settings.hpp"
#include "common/bench/time_variants.cuh"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"

namespace bench {

// Checks the variants, times those that are right and works out their figures.
template <class Problem>
ProblemReport run_problem(const RunSettings& settings, Problem& problem,
                          const std::vector<Variant<Problem>>& variants, bool show_gflops = false) {
  ProblemReport report;
  if (variants.empty()) return report;
  const WorkStream stream(settings.device);
  report.problem = problem.name;
  report.sizes = problem.sizes();
  report.show_gflops = show_gflops;
  report.rows = verify_variants(settings, problem, variants, stream.get());
  if (!settings.verify_only) {
    time_variants(settings, problem, variants, stream.get(), report.rows);
    derive_figures(problem, variants, settings.device, report.rows);
  }
  settings.progress("");
  return report;
}

// Median milliseconds of kernels that differ in one parameter; each is checked like any variant.
// Throws UsageError without a GPU, and std::runtime_error if one of them is wrong.
template <class Problem>
std::vector<double> time_sweep(const RunSettings& settings, Problem& problem,
                               const std::vector<Variant<Problem>>& variants) {
  if (!settings.device.available) {
    throw UsageError("a sweep needs a GPU: " + settings.device.reason);
  }
  const WorkStream stream(settings.device);
  std::vector<Row> rows = verify_variants(settings, problem, variants, stream.get());
  time_variants(settings, problem, variants, stream.get(), rows);
  std::vector<double> medians;
  for (const Row& row : rows) {
    if (row.verdict.status != Status::right) {
      throw std::runtime_error(row.name + ": " + row.verdict.reason);
    }
    medians.push_back(row.timing.median_ms);
  }
  settings.progress("");
  return medians;
}

}  // namespace bench
