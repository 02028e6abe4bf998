// What a program asks of a ladder, done for the type of its problem: the only way from main(),
// which knows no problem, to the rungs. Runs the variants side by side: first proves each right
// (verify.cuh), then times it (time_variants.cuh), proves it right again, and works out its figures
// (figures.cuh).
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/bench/figures.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/options.hpp"
#include "common/bench/report.hpp"
#include "common/bench/run_settings.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/time_variants.cuh"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"

namespace bench {

// After an error in the last of these rows: rows of the variants behind it.
template <class Problem>
void skip_the_rest(const std::vector<Variant<Problem>>& variants, std::vector<Row>& rows) {
  const std::string reason = "not run, after the error in " + rows.back().name;
  for (std::size_t i = rows.size(); i < variants.size(); ++i) {
    rows.push_back(row_of(variants[i]));
    rows.back().verdict = {Status::skipped, kUnknown, reason};
  }
}

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
    skip_the_rest(variants, report.rows);
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

// Memory that a run of the ladder takes: what the ladder says of its problem, and the buffer that
// flushes the cache.
template <class Problem>
MemoryNeed need_of(const Ladder<Problem>& ladder, const Settings& settings,
                   const RunSettings& run) {
  MemoryNeed need = ladder.memory ? ladder.memory(settings, run) : MemoryNeed{};
  need.device += flush_bytes(run);
  return need;
}

template <class Problem>
std::vector<Variant<Problem>> chosen_of(const Ladder<Problem>& ladder,
                                        const AnyLadder::Chosen& chosen) {
  std::vector<Variant<Problem>> variants;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) variants.push_back(ladder.variants[i]);
  }
  return variants;
}

template <class Problem>
void run_ladder(const Ladder<Problem>& ladder, const RunSettings& run, const Settings& settings,
                const AnyLadder::Chosen& chosen, const AnyLadder::Show& show) {
  const auto problem = ladder.make(settings, run);
  const auto variants = chosen_of(ladder, chosen);
  ProblemReport report;
  if (ladder.is_judged) {
    report = run_problem(run, *problem, variants, ladder.show_gflops);
    report.problem = ladder.name;
    show({report});
  }
  if (ladder.after) show(ladder.after(run, *problem, variants, report));
}

// With LADDERS_HAVE_NAMES_ONLY it runs nothing, and costs a compiler two seconds less a ladder: for
// tests that include a ladder.cu, and take from it the ladder that has its type.
template <class Problem>
AnyLadder::AnyLadder(const Ladder<Problem>& ladder) : name(ladder.name), settings(ladder.settings) {
  for (const auto& variant : ladder.variants) {
    variants.push_back({variant.name, variant.idea, variant.tags});
  }
  for (const auto& sweep : ladder.sweeps) sweeps.push_back({sweep.name, sweep.help, sweep.points});
#ifndef LADDERS_HAVE_NAMES_ONLY
  memory = [ladder](const Settings& settings, const RunSettings& run) {
    return need_of(ladder, settings, run);
  };
  run = [ladder](const RunSettings& run, const Settings& settings, const Chosen& chosen,
                 const Show& show) { run_ladder(ladder, run, settings, chosen, show); };
  sweep = [ladder](const RunSettings& run, const Settings& settings, const Chosen& chosen,
                   const std::string& name) {
    for (const auto& sweep : ladder.sweeps) {
      if (sweep.name == name) return sweep.run(run, settings, chosen_of(ladder, chosen));
    }
    return Shown{};
  };
#endif
}

}  // namespace bench
