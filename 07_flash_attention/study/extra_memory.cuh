// What is printed after the table of times: the device memory each variant needs in addition to Q,
// K, V, O and the log-sum-exp, and what was compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "07_flash_attention/element.hpp"
#include "07_flash_attention/problem.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/lines.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"

namespace attention {

inline std::string extra_memory_of(const bench::ProblemReport& report) {
  std::string table = bench::formatted("\n%-22s %14s\n", "extra device memory", "bytes");
  for (const bench::Row& row : report.rows) {
    if (row.place != "device") continue;
    const bool known = row.extra_bytes >= 0;
    table += bench::formatted(
        "%-22s %14s\n", row.name.c_str(),
        known ? bench::grouped(static_cast<std::int64_t>(row.extra_bytes)).c_str() : "-");
  }
  return table;
}

// Fits Ladder::after.
template <class P>
bench::Shown extra_memory(const bench::RunSettings&, P&, const std::vector<bench::Variant<P>>&,
                          const bench::ProblemReport& report) {
  return {extra_memory_of(report)};
}

// The same, and how the outputs were compared.
template <class T>
bench::Shown extra_memory_and_errors(const bench::RunSettings&, Problem<T>& problem,
                                     const std::vector<bench::Variant<Problem<T>>>&,
                                     const bench::ProblemReport& report) {
  std::string text = extra_memory_of(report);
  const auto checked = static_cast<std::int64_t>(problem.expected.rows.size());
  if (checked < problem.shape.rows()) {
    text += bench::formatted(
        "(compared with fp64: %s of %s rows, the first and the last among them; of all\n"
        " others: no NaN, no output larger than the largest value)\n",
        bench::grouped(checked).c_str(), bench::grouped(problem.shape.rows()).c_str());
  }
  if (Problem<T>::kIs16Bit) {
    text +=
        bench::formatted("(largest error of plain %s arithmetic here: %s; twice that is allowed)\n",
                         Element<T>::name, bench::short_number(problem.eager_error()).c_str());
  }
  return {text};
}

}  // namespace attention
