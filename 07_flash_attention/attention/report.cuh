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

// Notes the extra memory in the row, for the JSON, if rows have room for it.
template <class R>
auto note_extra_bytes(R& row, double bytes) -> decltype(row.extra_bytes, void()) {
  row.extra_bytes = bytes;
}
inline void note_extra_bytes(...) {}

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
  std::vector<double> extra_bytes;
  for (const auto& variant : variants) {
    problem.workspace.forget();
    const auto rows = common::verify_variants(program, problem, {variant}, stream.get());
    report.rows.push_back(rows.front());
    const bool ran = rows.front().verdict.status != common::Status::skipped;
    const bool on_device = variant.place == common::Place::device;
    extra_bytes.push_back(ran && on_device ? problem.workspace.asked_bytes() : common::kUnknown);
    note_extra_bytes(report.rows.back(), extra_bytes.back());
  }
  if (!program.verify_only()) {
    common::time_variants(program, problem, variants, stream.get(), report.rows);
    common::derive_figures(problem, variants, program.device(), report.rows);
  }
  program.progress("");
  program.add(report);

  std::printf("\n%-22s %14s\n", "extra device memory", "bytes");
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (variants[i].place != common::Place::device) continue;
    std::printf("%-22s %14s\n", variants[i].name.c_str(),
                extra_bytes[i] >= 0
                    ? common::grouped(static_cast<std::int64_t>(extra_bytes[i])).c_str()
                    : "-");
  }
  const auto checked = static_cast<std::int64_t>(problem.expected.rows.size());
  if (checked < problem.shape.rows()) {
    std::printf(
        "(compared with fp64: %s of %s rows, the first and the last among them; of all\n"
        " others: no NaN, no output larger than the largest value)\n",
        common::grouped(checked).c_str(), common::grouped(problem.shape.rows()).c_str());
  }
  if (Attention<T>::kIsBf16) {
    std::printf("(largest error of plain bf16 arithmetic here: %s; twice that is allowed)\n",
                common::short_number(problem.eager_error()).c_str());
  }
}
