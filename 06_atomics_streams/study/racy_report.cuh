// How wrong the racy rung is. Its result is never judged: it is announced as wrong, so its being
// wrong is no failure, and its being right by chance would prove nothing.
#pragma once

#include <string>
#include <vector>

#include "06_atomics_streams/one_cell/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/lines.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"

namespace one_cell {

// What is missing from `expected`, in percent of it.
inline double percent_lost(OneCell::Total expected, OneCell::Total got) {
  const double whole = static_cast<double>(expected);
  return whole > 0 ? 100 * (whole - static_cast<double>(got)) / whole : 0;
}

// One run of a variant on fresh arrays: the total it leaves, right or not.
inline OneCell::Total total_of(OneCell& problem, const bench::Variant<OneCell>& variant,
                               cudaStream_t stream) {
  problem.each_array([](auto& array) { array.reset(bench::Side::device); });
  CUDA_CHECK(cudaDeviceSynchronize());
  variant.run(problem, stream);
  CUDA_CHECK(cudaDeviceSynchronize());
  problem.total.fetch(bench::Side::device);
  return *problem.total.fetched();
}

// Runs each of `variants` a few times and shows what got lost. Fits Ladder::after.
inline bench::Shown report_racy(const bench::RunSettings& settings, OneCell& problem,
                                const std::vector<bench::Variant<OneCell>>& variants,
                                const bench::ProblemReport&) {
  constexpr int kRuns = 5;
  const bench::WorkStream stream(settings.device);
  bench::Shown shown;
  for (const auto& variant : variants) {
    const std::string reason = bench::why_skipped(variant, settings.device);
    if (!reason.empty()) {
      shown.push_back("\n" + variant.name + " (wrong on purpose): skipped, " + reason + "\n");
      continue;
    }
    // Not printed as a table: rounded numbers would hide the differences.
    bench::Sweep sweep{variant.name, "run", {"run", "expected", "got", "lost_percent"}, {}, false};
    std::string text =
        bench::formatted("\n%s is wrong on purpose and is not judged: expected %llu\n",
                         variant.name.c_str(), problem.expected);
    for (int run = 1; run <= kRuns; ++run) {
      const OneCell::Total got = total_of(problem, variant, stream.get());
      const double lost = percent_lost(problem.expected, got);
      text += bench::formatted("  run %d: got %llu, lost %.4g %%\n", run, got, lost);
      sweep.points.push_back({static_cast<double>(run), static_cast<double>(problem.expected),
                              static_cast<double>(got), lost});
    }
    if (!settings.device.is_real_gpu()) {
      text +=
          "Here the threads of a block take turns, which hides the race. The race check\n"
          "names it; the lesson says how to run it.\n";
    }
    shown.push_back(text);
    shown.push_back(sweep);
  }
  return shown;
}

}  // namespace one_cell
