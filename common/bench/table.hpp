// The tables that a person reads: a problem's rows, a sweep.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/bench/report.hpp"

namespace bench {

inline std::string verdict_text(const Row& row) {
  std::string text = status_name(row.verdict.status);
  if (!row.verdict.reason.empty()) text += ": " + row.verdict.reason;
  if (!row.chose.empty()) text += ", took " + row.chose;
  return text;
}

// What a column is there for.
enum class Use {
  always,
  gpu,    // says something of kernels that were timed, and of nothing else
  roomy,  // where no counts need its room
  count,
};

inline std::string nothing_of_phase(const PhaseRow&) { return ""; }

// A figure of every row, and of every phase where phases have it.
struct Column {
  std::string title;
  std::size_t width;  // at least, in a table of a GPU's times: they all look alike
  std::function<std::string(const Row&)> of_row;
  std::function<std::string(const PhaseRow&)> of_phase = nothing_of_phase;
  Use use = Use::always;
};

inline std::vector<Column> time_columns(bool show_gflops) {
  const auto median = [](const Row& row) {
    return row.timing.samples > 0 ? short_number(row.timing.median_ms) : "-";
  };
  const auto spread = [](const Row& row) {
    if (row.timing.samples == 0) return std::string();
    return short_number(row.timing.min_ms) + " .. " + short_number(row.timing.max_ms);
  };
  return {
      {"ms", 9, median, [](const PhaseRow& phase) { return short_number(phase.median_ms); }},
      {"min .. max", 19, spread, nothing_of_phase, Use::roomy},
      {show_gflops ? "GFLOP/s" : "GB/s", 9,
       [=](const Row& row) { return short_number(show_gflops ? row.gflops : row.gbps); },
       [=](const PhaseRow& phase) { return show_gflops ? "" : short_number(phase.gbps); }},
      {"% peak", 7, [](const Row& row) { return with_decimals(row.percent_of_roof, 1); },
       [](const PhaseRow& phase) { return with_decimals(phase.percent_of_roof, 1); }, Use::gpu},
      {"x seq.", 9, [](const Row& row) { return short_number(row.speedup); }},
      {"x lib.", 7, [](const Row& row) { return with_decimals(row.ratio_to_peer, 3); }},
  };
}

struct CountColumn {
  std::string title;
  std::function<std::string(const Counts&)> text;
  std::string meaning;
};

inline const std::vector<CountColumn>& count_columns() {
  const auto whole = [](double count) {
    return count < 1e7 ? with_decimals(count, 0) : short_number(count);
  };
  static const std::vector<CountColumn> columns = {
      {"MB", [](const Counts& counts) { return short_number(counts.moved_bytes / 1e6); },
       "read from and written to global memory in one run: sectors, and by TMA"},
      {"load", [](const Counts& counts) { return with_decimals(counts.load_sectors, 2); },
       "sectors, pieces of 32 bytes, that one load of a warp touches"},
      {"store", [](const Counts& counts) { return with_decimals(counts.store_sectors, 2); },
       "the same of a store; 4 where lanes take floats side by side, 16 float4s"},
      {"conflict", [](const Counts& counts) { return with_decimals(counts.conflict, 2); },
       "passes through shared memory for each one needed; 1: no bank conflict"},
      {"lanes", [](const Counts& counts) { return with_decimals(counts.active_lanes, 1); },
       "that take part in an instruction of a warp, of 32"},
      {"barriers", [=](const Counts& counts) { return whole(counts.barriers); },
       "executed by warps in one run"},
      {"atomics", [=](const Counts& counts) { return whole(counts.atomics); },
       "executed by warps in one run"},
      {"tensor", [=](const Counts& counts) { return whole(counts.tensor_operations); },
       "operations of tensor cores; a product and a sum are two"},
  };
  return columns;
}

// What the columns of counts with these titles mean.
inline std::string counts_legend(const std::set<std::string>& titles) {
  std::string text;
  for (const CountColumn& column : count_columns()) {
    const std::string blanks(10 - column.title.size(), ' ');
    if (titles.count(column.title) > 0) text += column.title + blanks + column.meaning + "\n";
  }
  return text;
}

struct Layout {
  std::vector<Column> columns;
  std::size_t gap;  // between columns, at least
};

// Where kernels were timed: times, and all of their columns. Elsewhere: of times and counts those
// columns that say something of some row, no wider than they must be; of counts beside the times of
// loops for the CPU those alone that tell rows apart.
inline Layout layout_of(const ProblemReport& report) {
  const auto any = [&report](auto test) {
    return std::any_of(report.rows.begin(), report.rows.end(), test);
  };
  const bool has_kernel_times =
      any([](const Row& row) { return row.place != "cpu" && row.timing.samples > 0; });
  const auto counted = std::count_if(report.rows.begin(), report.rows.end(),
                                     [](const Row& row) { return row.counts.any(); });
  const bool has_counts = counted > 0 && !has_kernel_times;
  const bool is_crowded = counted > 1 && any([](const Row& row) { return row.timing.samples > 0; });
  std::vector<Column> columns = {{"variant", 22, [](const Row& row) { return row.name; },
                                  [](const PhaseRow& phase) { return "  " + phase.name; }}};
  for (const Column& column : time_columns(report.show_gflops)) columns.push_back(column);
  if (has_counts) {
    for (const CountColumn& column : count_columns()) {
      const auto of_row = [text = column.text](const Row& row) { return text(row.counts); };
      columns.push_back({column.title, 0, of_row, nothing_of_phase, Use::count});
    }
  } else {
    columns.push_back(
        {"max error", 9, [](const Row& row) { return short_number(row.verdict.max_error); }});
  }
  columns.push_back({"verdict", 0, verdict_text});
  if (has_kernel_times) return {columns, 1};
  const auto is_left_out = [&](const Column& column) {
    std::set<std::string> cells;
    for (const Row& row : report.rows) {
      if (column.use != Use::count || row.counts.any()) cells.insert(column.of_row(row));
    }
    if (is_crowded && column.use == Use::count) return cells.size() == 1;
    cells.erase("");
    cells.erase("-");
    return cells.empty() || column.use == Use::gpu || (has_counts && column.use == Use::roomy);
  };
  columns.erase(std::remove_if(columns.begin(), columns.end(), is_left_out), columns.end());
  for (Column& column : columns) column.width = 0;
  return {columns, has_counts ? 1u : 2u};
}

// The titles of the counts in the table of this report.
inline std::set<std::string> counts_shown(const ProblemReport& report) {
  std::set<std::string> titles;
  for (const Column& column : layout_of(report).columns) {
    if (column.use == Use::count) titles.insert(column.title);
  }
  return titles;
}

// The first column and the last begin at the left, the others end at the right.
inline std::string table_text(const ProblemReport& report) {
  auto [columns, gap] = layout_of(report);
  const std::size_t last = columns.size() - 1;
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : columns) lines[0].push_back(column.title);
  for (const Row& row : report.rows) {
    lines.emplace_back();
    for (const Column& column : columns) lines.back().push_back(column.of_row(row));
    for (const PhaseRow& phase : row.phases) {
      lines.emplace_back();
      for (const Column& column : columns) lines.back().push_back(column.of_phase(phase));
    }
  }
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < last; ++i) {
      columns[i].width = std::max(columns[i].width, line[i].size());
    }
  }
  std::string text;
  for (const auto& line : lines) {
    const std::size_t begin = text.size();
    for (std::size_t i = 0; i < last; ++i) {
      const std::string blanks(columns[i].width - line[i].size(), ' ');
      text += i == 0 ? line[i] + blanks : std::string(gap, ' ') + blanks + line[i];
    }
    text += "  " + line[last];
    text.erase(std::max(begin, text.find_last_not_of(' ') + 1));
    text += '\n';
  }
  return text;
}

inline void print_table(const ProblemReport& report) {
  std::string title = report.problem;
  for (const auto& [name, value] : report.sizes) title += ", " + name + " = " + grouped(value);
  std::printf("\n%s\n%s", title.c_str(), table_text(report).c_str());
}

inline void print_table(const Sweep& sweep) {
  std::printf("\n%s, swept over %s\n", sweep.problem.c_str(), sweep.name.c_str());
  for (const std::string& column : sweep.columns) std::printf("%16s", column.c_str());
  std::printf("\n");
  for (const auto& point : sweep.points) {
    for (const double value : point) std::printf("%16s", short_number(value).c_str());
    std::printf("\n");
  }
}

}  // namespace bench
