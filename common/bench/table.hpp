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

#include "common/bench/lines.hpp"
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
  gpu,  // says something of kernels that were timed, and of nothing else
  count,
};

inline std::string nothing_of_phase(const PhaseRow&) { return ""; }

// A figure of every row, and of every phase where phases have it.
struct Column {
  std::string title;
  std::string meaning;
  std::function<std::string(const Row&)> of_row;
  std::function<std::string(const PhaseRow&)> of_phase = nothing_of_phase;
  Use use = Use::always;
};

// What the column of rates counts: bytes, operations in 1e9, or where one is above 10,000, in 1e12.
enum class Rate { bytes, giga_operations, tera_operations };

inline Rate rate_of(const ProblemReport& report) {
  if (!report.show_gflops) return Rate::bytes;
  const bool is_fast = std::any_of(report.rows.begin(), report.rows.end(),
                                   [](const Row& row) { return row.gflops > 1e4; });
  return is_fast ? Rate::tera_operations : Rate::giga_operations;
}

inline std::vector<Column> time_columns(Rate rate) {
  const bool of_bytes = rate == Rate::bytes;
  const double unit = rate == Rate::tera_operations ? 1e3 : 1;
  const auto median = [](const Row& row) {
    return row.timing.samples > 0 ? short_number(row.timing.median_ms) : "-";
  };
  const auto spread = [](const Row& row) {
    const Timing& timing = row.timing;
    if (timing.samples < 2) return std::string("-");  // one has none
    return with_decimals(100 * (timing.max_ms - timing.min_ms) / timing.median_ms, 1);
  };
  return {
      {"ms", "median of all samples", median,
       [](const PhaseRow& phase) { return short_number(phase.median_ms); }},
      {"spread", "from the fastest sample to the slowest, in percent of the median", spread},
      {of_bytes                        ? "GB/s"
       : rate == Rate::tera_operations ? "TFLOP/s"
                                       : "GFLOP/s",
       of_bytes ? "bytes that must be moved, over the median"
                : "operations that must be done, over the median",
       [=](const Row& row) { return short_number(of_bytes ? row.gbps : row.gflops / unit); },
       [=](const PhaseRow& phase) { return of_bytes ? short_number(phase.gbps) : ""; }},
      {"% peak", "least time that this machine could need, over the median",
       [](const Row& row) { return with_decimals(row.percent_of_roof, 1); },
       [](const PhaseRow& phase) { return with_decimals(phase.percent_of_roof, 1); }, Use::gpu},
      {"x seq", "times as fast as sequential, which runs on one core",
       [](const Row& row) { return short_number(row.speedup); }},
      {"x lib", "times as fast as the library's function",
       [](const Row& row) { return with_decimals(row.ratio_to_peer, 3); }},
  };
}

// In millions, to the thousand.
inline std::string millions(double count) {
  return count < 1e6 ? with_decimals(count / 1e6, 3) : short_number(count / 1e6);
}

inline std::string whole(double count) {
  return count < 1e7 ? with_decimals(count, 0) : short_number(count);
}

inline std::vector<Column> count_columns() {
  struct Count {
    const char* title;
    const char* meaning;
    std::string (*text)(const Counts&);
  };
  const Count counts[] = {
      {"MB", "asked of global memory in one run, before any cache: sectors, and TMA",
       [](const Counts& c) { return millions(c.moved_bytes); }},
      {"load", "sectors, pieces of 32 bytes, that one load of a warp touches",
       [](const Counts& c) { return with_decimals(c.load_sectors, 1); }},
      {"store", "the same of a store; 4: lanes take floats side by side, 16: float4s",
       [](const Counts& c) { return with_decimals(c.store_sectors, 1); }},
      {"passes", "of shared memory, loads and stores: wavefronts per one needed; 1: best",
       [](const Counts& c) { return with_decimals(c.conflict, 2); }},
      {"lanes", "that take part in an instruction of a warp, of 32",
       [](const Counts& c) { return with_decimals(c.active_lanes, 1); }},
      {"barrier", "executed by warps in one run",
       [](const Counts& c) { return whole(c.barriers); }},
      {"atomic", "executed by warps in one run", [](const Counts& c) { return whole(c.atomics); }},
      {"tensor", "millions of operations of tensor cores; a product and a sum are two",
       [](const Counts& c) { return millions(c.tensor_operations); }},
  };
  std::vector<Column> columns;
  for (const Count& count : counts) {
    const auto of_row = [text = count.text](const Row& row) { return text(row.counts); };
    columns.push_back({count.title, count.meaning, of_row, nothing_of_phase, Use::count});
  }
  return columns;
}

inline bool has_kernel_times(const ProblemReport& report) {
  return std::any_of(report.rows.begin(), report.rows.end(),
                     [](const Row& row) { return row.place != "cpu" && row.timing.samples > 0; });
}

inline bool has_counts(const ProblemReport& report) {
  return std::any_of(report.rows.begin(), report.rows.end(),
                     [](const Row& row) { return row.counts.any(); });
}

// Whether a column says nothing of these rows. A count must tell rows apart; one pass is no news.
inline bool says_nothing(const Column& column, const std::vector<Row>& rows) {
  std::set<std::string> cells;
  std::size_t counted = 0;
  for (const Row& row : rows) {
    if (column.use == Use::count && !row.counts.any()) continue;
    cells.insert(column.of_row(row));
    ++counted;
  }
  if (column.use == Use::count && counted > 1 && cells.size() == 1) return true;
  if (column.title == "passes") cells.erase("1.00");
  cells.erase("-");
  return cells.empty();
}

// The columns between a row's name and its verdict: times where kernels were timed, otherwise what
// was counted of them, in both cases those alone that say something.
inline std::vector<Column> columns_of(const ProblemReport& report) {
  const bool is_timed = has_kernel_times(report);
  std::vector<Column> columns = time_columns(rate_of(report));
  if (!is_timed && has_counts(report)) {
    for (const Column& column : count_columns()) columns.push_back(column);
  } else {
    columns.push_back({"error", "largest difference from the reference",
                       [](const Row& row) { return short_number(row.verdict.max_error); }});
  }
  const auto is_left_out = [&](const Column& column) {
    return (column.use == Use::gpu && !is_timed) || says_nothing(column, report.rows);
  };
  columns.erase(std::remove_if(columns.begin(), columns.end(), is_left_out), columns.end());
  return columns;
}

// Times of loops for the CPU and counts of kernels have nothing in common: a table each.
inline std::vector<ProblemReport> parts_of(const ProblemReport& report) {
  if (!has_counts(report) || has_kernel_times(report)) return {report};
  ProblemReport loops = report, kernels = report;
  loops.rows.clear();
  kernels.rows.clear();
  for (const Row& row : report.rows) (row.place == "cpu" ? loops : kernels).rows.push_back(row);
  if (loops.rows.empty()) return {kernels};
  return {loops, kernels};
}

// Title and meaning of every column that the tables of this report have.
inline std::vector<Column> columns_shown(const ProblemReport& report) {
  std::vector<Column> shown;
  for (const ProblemReport& part : parts_of(report)) {
    for (Column& column : columns_of(part)) shown.push_back(std::move(column));
  }
  return shown;
}

using Line = std::vector<std::string>;

// The first column begins at the left, the others end at the right; the verdict follows. What of it
// would pass the end of the line stands below.
inline std::string aligned(const std::vector<Line>& lines) {
  const std::size_t last = lines[0].size() - 1;
  std::vector<std::size_t> widths(last);
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < last; ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const Line& line : lines) {
    std::string row = line[0] + std::string(widths[0] - line[0].size(), ' ');
    for (std::size_t i = 1; i < last; ++i) {
      row += std::string(1 + widths[i] - line[i].size(), ' ') + line[i];
    }
    const std::string& verdict = line[last];
    const std::size_t first_word = std::min(verdict.find(' '), verdict.size());
    const bool fits = row.size() + 1 + verdict.size() <= kLineWidth;
    row += " " + (fits ? verdict : verdict.substr(0, first_word));
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + '\n';
    if (!fits && first_word < verdict.size()) {
      text += wrapped("   " + verdict.substr(first_word), 4) + '\n';
    }
  }
  return text;
}

inline std::string table_of(const ProblemReport& part) {
  const std::vector<Column> columns = columns_of(part);
  std::vector<Line> lines(1, Line{"variant"});
  for (const Column& column : columns) lines[0].push_back(column.title);
  lines[0].push_back("verdict");
  for (const Row& row : part.rows) {
    lines.push_back({row.name});
    for (const Column& column : columns) lines.back().push_back(column.of_row(row));
    lines.back().push_back(verdict_text(row));
    for (const PhaseRow& phase : row.phases) {
      lines.push_back({"  " + phase.name});
      for (const Column& column : columns) lines.back().push_back(column.of_phase(phase));
      lines.back().push_back("");
    }
  }
  return aligned(lines);
}

inline std::string table_text(const ProblemReport& report) {
  std::string text;
  for (const ProblemReport& part : parts_of(report)) {
    text += (text.empty() ? "" : "\n") + table_of(part);
  }
  return text;
}

inline void print_table(const ProblemReport& report) {
  std::string title = report.problem;
  std::size_t begin = 0;  // of the line
  for (const auto& [name, value] : report.sizes) {
    const std::string size = name + " = " + grouped(value);
    const bool fits = title.size() - begin + 3 + size.size() <= kLineWidth;  // and a comma
    title += fits ? ", " : ",\n    ";
    if (!fits) begin = title.size() - 4;
    title += size;
  }
  std::printf("\n%s\n%s", title.c_str(), table_text(report).c_str());
}

// Columns that would pass the end of the line stand in a table of their own below, behind the first
// column again, which says what is swept.
inline std::string table_text(const Sweep& sweep) {
  std::vector<Line> columns;  // the title, then a cell for each point, all of one width
  for (std::size_t i = 0; i < sweep.columns.size(); ++i) {
    Line cells = {sweep.columns[i]};
    for (const auto& point : sweep.points) cells.push_back(short_number(point[i]));
    std::size_t width = 0;
    for (const std::string& cell : cells) width = std::max(width, cell.size());
    for (std::string& cell : cells) cell.insert(0, width - cell.size(), ' ');
    columns.push_back(std::move(cells));
  }
  std::string text;
  std::size_t first = 1, end = 1;
  do {
    std::size_t width = columns[0][0].size();
    for (; end < columns.size(); ++end) {
      width += 2 + columns[end][0].size();
      if (width > kLineWidth && end > first) break;
    }
    if (first > 1) text += '\n';
    for (std::size_t line = 0; line <= sweep.points.size(); ++line) {
      text += columns[0][line];
      for (std::size_t i = first; i < end; ++i) text += "  " + columns[i][line];
      text += '\n';
    }
    first = end;
  } while (end < columns.size());
  return text;
}

inline void print_table(const Sweep& sweep) {
  const std::string title = sweep.problem + ", swept over " + sweep.name;
  std::printf("\n%s\n%s", wrapped(title, 4).c_str(), table_text(sweep).c_str());
}

}  // namespace bench
