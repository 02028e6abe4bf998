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

// Checks the variants, times those that are right and works out their figures. After a CUDA error
// in one of them none is timed: the report has the error, and says of the others that they did not
// run.
template <class Problem>
ProblemReport run_problem(const RunSettings& settings, Problem& problem,
                          const std::vector<Variant<Problem>>& variants, bool show_gflops = false) {
  ProblemReport report;
  if (variants.empty()) return report;
  const WorkStream stream(settings.device);
  report.problem = problem.name;
  report.sizes = problem.sizes();
  report.show_gflops = show_gflops;
  try {
    report.rows = verify_variants(settings, problem, variants, stream.get());
  } catch (const VariantFailed& failed) {
    report.error = failed.what();
    report.rows = failed.rows;
    const std::string reason = "not run, after the error in " + report.rows.back().name;
    for (std::size_t i = report.rows.size(); i < variants.size(); ++i) {
      report.rows.push_back(row_of(variants[i]));
      report.rows.back().verdict = {Status::skipped, kUnknown, reason};
    }
  }
  if (!settings.verify_only && report.error.empty()) {
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
