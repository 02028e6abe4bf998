// How wrong the racy rung is. Its result is never judged: it is announced as wrong, so its being
// wrong is no failure, and its being right by chance would prove nothing.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "06_atomics_streams/one_cell/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/program.cuh"
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

// Runs each of `variants` a few times and adds a table of what got lost.
inline void report_racy(bench::Program& program, OneCell& problem,
                        const std::vector<bench::Variant<OneCell>>& variants) {
  constexpr int kRuns = 5;
  const bench::WorkStream stream(program.device());
  for (const auto& variant : variants) {
    const std::string reason = bench::why_skipped(variant, program.device());
    if (!reason.empty()) {
      std::printf("\n%s (wrong on purpose): skipped, %s\n", variant.name.c_str(), reason.c_str());
      continue;
    }
    bench::Sweep sweep{variant.name, "run", {"run", "expected", "got", "lost_percent"}, {}};
    std::printf("\n%s is wrong on purpose and is not judged: expected %llu\n", variant.name.c_str(),
                problem.expected);
    for (int run = 1; run <= kRuns; ++run) {
      const OneCell::Total got = total_of(problem, variant, stream.get());
      const double lost = percent_lost(problem.expected, got);
      std::printf("  run %d: got %llu, lost %.4g %%\n", run, got, lost);
      sweep.points.push_back({static_cast<double>(run), static_cast<double>(problem.expected),
                              static_cast<double>(got), lost});
    }
    program.record(sweep);  // not printed: a table of rounded numbers would hide the differences
    if (!program.device().is_real_gpu()) {
      std::printf(
          "Here the threads of a block take turns, which hides the race. The race check\n"
          "names it; the lesson says how to run it.\n");
    }
  }
}

}  // namespace one_cell
