// What is shown around the table of times: how often each rung touches an element, and what becomes
// of large inputs.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "07_flash_attention/softmax/03_naive.cuh"
#include "07_flash_attention/softmax/06_cached.cuh"
#include "07_flash_attention/softmax/07_warp.cuh"
#include "07_flash_attention/softmax/variants.cuh"
#include "common/harness.cuh"
#include "common/program.cuh"

// Accesses to global memory for each element of a matrix (tests/07_flash_attention_softmax.cu
// counts them).
struct Accesses {
  int reads, writes;
};
inline Accesses softmax_accesses(const std::string& variant, std::int64_t columns) {
  if (variant == "safe") return {3, 1};
  if (variant == "cached" && columns <= longest_cached_row()) return {1, 1};
  if (variant == "warp" && columns <= longest_cached_row()) return {1, 1};
  return {2, 1};
}

// A second table: accesses, and the rate at which memory had to serve them.
inline void print_accesses(const common::ProblemReport& report, const Softmax& problem) {
  bool is_first = true;
  for (const common::Row& row : report.rows) {
    if (row.place != "device" || row.kind != "rung") continue;
    if (row.verdict.status == common::Status::skipped) continue;
    if (is_first) {
      std::printf("\n%-22s %9s %9s %9s\n", "accesses an element", "reads", "writes", "GB/s");
    }
    is_first = false;
    const Accesses accesses = softmax_accesses(row.name, problem.columns);
    const double bytes = 4.0 * (accesses.reads + accesses.writes) * problem.elements();
    const bool timed = row.timing.samples > 0;
    std::printf("%-22s %9d %9d %9s\n", row.name.c_str(), accesses.reads, accesses.writes,
                timed ? common::short_number(bytes / (1e6 * row.timing.median_ms)).c_str() : "-");
  }
}

struct OverflowCounts {
  std::int64_t elements = 0, nan = 0;
  bool right = false;
};

// What a kernel makes of inputs in [-10000, 10000): run(x, y, rows, columns, stream).
template <class Run>
OverflowCounts softmax_of_large_inputs(Run run) {
  Softmax problem(4, 1000, 1, 1e4);
  problem.each_array([](auto& array) { array.reset(common::Side::device); });
  CUDA_CHECK(cudaDeviceSynchronize());
  run(problem.x.on_device(), problem.y.on_device(), problem.rows, problem.columns, nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  problem.each_array([](auto& array) { array.fetch(common::Side::device); });
  OverflowCounts counts;
  counts.elements = problem.y.size();
  counts.right = problem.check().right();
  for (std::int64_t i = 0; i < counts.elements; ++i) {
    counts.nan += std::isnan(problem.y.fetched()[i]) ? 1 : 0;
  }
  return counts;
}

// The naive rung is shown being wrong here, so this is no verdict on it.
inline void print_large_inputs() {
  const auto show = [](const char* name, const OverflowCounts& counts) {
    std::printf("%-22s %9s of %s\n", name, common::grouped(counts.nan).c_str(),
                common::grouped(counts.elements).c_str());
  };
  std::printf("\n%-22s %9s\n", "inputs up to 10,000", "NaN");
  show("naive", softmax_of_large_inputs(softmax_naive));
  show("safe", softmax_of_large_inputs(softmax_safe));
  show("online", softmax_of_large_inputs(softmax_online));
  show("cached", softmax_of_large_inputs(softmax_cached));
  show("warp", softmax_of_large_inputs(softmax_warp));
}

// Checks and times `variants` and adds the report to the program.
inline void run_softmax(common::Program& program, std::int64_t rows, std::int64_t columns,
                        const std::vector<common::Variant<Softmax>>& variants) {
  Softmax problem(rows, columns, program.seed());
  print_accesses(common::run_problem(program, problem, variants), problem);
  if (program.device().available) print_large_inputs();
}
