// What is shown below the table of times: how often each rung touches an element, and what becomes
// of large inputs.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "07_flash_attention/softmax/03_naive.cuh"
#include "07_flash_attention/softmax/04_safe.cuh"
#include "07_flash_attention/softmax/05_online.cuh"
#include "07_flash_attention/softmax/06_cached.cuh"
#include "07_flash_attention/softmax/07_warp.cuh"
#include "07_flash_attention/softmax/problem.cuh"
#include "common/bench/guarded_array.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/lines.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"

namespace softmax {

// Accesses to global memory for each element of a matrix (tests/07_flash_attention_softmax.cu
// counts them).
struct Accesses {
  int reads, writes;
};
inline Accesses accesses_of(const std::string& rung) {
  if (rung == "safe") return {3, 1};
  if (rung == "cached" || rung == "warp") return {1, 1};
  return {2, 1};
}

// A second table: accesses, and the rate at which memory had to serve them.
inline std::string accesses_table(const bench::ProblemReport& report, const Softmax& problem) {
  std::string table;
  for (const bench::Row& row : report.rows) {
    if (row.place != "device" || row.kind == "yardstick") continue;
    if (row.verdict.status == bench::Status::skipped) continue;
    if (table.empty()) {
      table = bench::formatted("\n%-22s %9s %9s %9s\n", "accesses per element", "reads", "writes",
                               "GB/s");
    }
    const Accesses accesses = accesses_of(row.chose.empty() ? row.name : row.chose);
    const double bytes = 4.0 * (accesses.reads + accesses.writes) * problem.elements();
    const bool timed = row.timing.samples > 0;
    table += bench::formatted(
        "%-22s %9d %9d %9s\n", row.name.c_str(), accesses.reads, accesses.writes,
        timed ? bench::short_number(bytes / (1e6 * row.timing.median_ms)).c_str() : "-");
  }
  return table;
}

struct OverflowCounts {
  std::int64_t elements = 0, nan = 0;
  bool right = false;
};

// What a kernel makes of inputs in [-10000, 10000): run(x, y, rows, columns, stream).
template <class Run>
OverflowCounts count_nan(Run run) {
  Softmax problem(4, 1000, 1, 1e4);
  problem.each_array([](auto& array) { array.reset(bench::Side::device); });
  CUDA_CHECK(cudaDeviceSynchronize());
  run(problem.x.device_data(), problem.y.device_data(), problem.rows, problem.columns, nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  problem.each_array([](auto& array) { array.fetch(bench::Side::device); });
  OverflowCounts counts;
  counts.elements = problem.y.size();
  counts.right = problem.check().right();
  for (std::int64_t i = 0; i < counts.elements; ++i) {
    counts.nan += std::isnan(problem.y.fetched()[i]) ? 1 : 0;
  }
  return counts;
}

// The naive rung is shown being wrong here, so this is no verdict on it.
inline std::string large_inputs_table() {
  std::string table = bench::formatted("\n%-22s %9s\n", "inputs up to 10,000", "NaN");
  const auto show = [&table](const char* name, const OverflowCounts& counts) {
    table += bench::formatted("%-22s %9s of %s\n", name, bench::grouped(counts.nan).c_str(),
                              bench::grouped(counts.elements).c_str());
  };
  show("naive", count_nan(naive));
  show("safe", count_nan(safe));
  show("online", count_nan(online));
  show("cached", count_nan(cached));
  show("warp", count_nan(warp));
  return table;
}

// Fits Ladder::after.
inline bench::Shown accesses_and_large_inputs(const bench::RunSettings& run, Softmax& problem,
                                              const std::vector<bench::Variant<Softmax>>&,
                                              const bench::ProblemReport& report) {
  bench::Shown shown = {accesses_table(report, problem)};
  if (run.device.available) shown.push_back(large_inputs_table());
  return shown;
}

}  // namespace softmax
