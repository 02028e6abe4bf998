// Runs the variants of one attention problem and shows, beside their times, the device memory each
// needs in addition to Q, K, V, O and the log-sum-exp.
#pragma once

#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "07_flash_attention/attention/problem.cuh"
#include "common/harness.cuh"
#include "common/program.cuh"
#include "common/report.hpp"
#include "common/variant.cuh"

// Checks and times `variants` and adds the report to the program.
template <class T>
void run_attention(common::Program& program, Attention<T>& problem,
                   const std::vector<common::Variant<Attention<T>>>& variants) {
  if (variants.empty()) return;
  const common::WorkStream stream(program.device());
  common::ProblemReport report;
  report.problem = problem.name;
  report.sizes = problem.sizes();
  report.show_gflops = true;
  for (const auto& variant : variants) {
    problem.workspace.forget();
    const auto rows = common::verify_variants(program, problem, {variant}, stream.get());
    report.rows.push_back(rows.front());
    const bool ran = rows.front().verdict.status != common::Status::skipped;
    const bool on_device = variant.place == common::Place::device;
    if (ran && on_device) report.rows.back().extra_bytes = problem.workspace.asked_bytes();
  }
  if (!program.verify_only()) {
    common::time_variants(program, problem, variants, stream.get(), report.rows);
    common::derive_figures(problem, variants, program.device(), report.rows);
  }
  program.progress("");
  program.add(report);

  std::printf("\n%-22s %14s\n", "extra device memory", "bytes");
  for (const common::Row& row : report.rows) {
    if (row.place != "device") continue;
    const bool known = row.extra_bytes >= 0;
    std::printf("%-22s %14s\n", row.name.c_str(),
                known ? common::grouped(static_cast<std::int64_t>(row.extra_bytes)).c_str() : "-");
  }
  const auto checked = static_cast<std::int64_t>(problem.expected.rows.size());
  if (checked < problem.shape.rows()) {
    std::printf(
        "(compared with fp64: %s of %s rows, the first and the last among them; of all\n"
        " others: no NaN, no output larger than the largest value)\n",
        common::grouped(checked).c_str(), common::grouped(problem.shape.rows()).c_str());
  }
  if (Attention<T>::kIs16Bit) {
    std::printf("(largest error of plain %s arithmetic here: %s; twice that is allowed)\n",
                Element<T>::name, common::short_number(problem.eager_error()).c_str());
  }
}
