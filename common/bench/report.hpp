// What a run found out: rows, and the two ways to show them, a table and JSON.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/bench/json.hpp"
#include "common/bench/measure.hpp"

namespace bench {

constexpr double kUnknown =
    std::numeric_limits<double>::quiet_NaN();  // "-" in tables, null in JSON

enum class Status { right, wrong, skipped };

inline const char* status_name(Status status) {
  switch (status) {
    case Status::right: return "right";
    case Status::wrong: return "wrong";
    case Status::skipped: return "skipped";
  }
  return "";
}

// How a variant's result compared with the reference. `reason` says why not, unless right.
struct Verdict {
  Status status = Status::skipped;
  double max_error = kUnknown;
  std::string reason;
};

// A named part of a row's time, with its own rate.
struct PhaseRow {
  std::string name;
  double median_ms = kUnknown;
  double gbps = kUnknown;
  double percent_of_roof = kUnknown;
};

// One variant of one problem.
struct Row {
  std::string name;
  std::string kind;   // "rung", "chooser", "peer" or "yardstick"
  std::string place;  // "cpu", "round_trip" or "device"
  Verdict verdict;
  Timing timing;                      // samples == 0: not timed
  double gbps = kUnknown;             // bytes the problem must move / median, 1e9 bytes a second
  double gflops = kUnknown;           // operations of the problem / median
  double percent_of_roof = kUnknown;  // least time this machine could need / median
  double speedup = kUnknown;          // median of the baseline / median
  double ratio_to_peer = kUnknown;    // median of the best peer / median; above 1: faster than it
  std::string chose;                  // of a chooser: the rung it took
  double extra_bytes = kUnknown;      // device memory it needs beside the problem's arrays
  std::vector<PhaseRow> phases;
};

using Sizes = std::vector<std::pair<std::string, std::int64_t>>;  // {{"n", 1000}}

// All rows of one problem at one size.
struct ProblemReport {
  std::string problem;
  Sizes sizes;
  bool show_gflops = false;  // which rate the table shows: GFLOP/s instead of GB/s
  std::vector<Row> rows;
};

// A sweep: named columns over a list of points, e.g. block size against time.
struct Sweep {
  std::string problem;
  std::string name;  // what is swept
  std::vector<std::string> columns;
  std::vector<std::vector<double>> points;  // one value per column
};

// "12.3", "0.00456", "1234": four significant digits, no exponent where a person can do without.
inline std::string short_number(double value) {
  if (std::isnan(value)) return "-";
  char text[32];
  const double size = std::fabs(value);
  if (value == 0) return "0";
  if (size < 1e-4 || size >= 1e7) {
    std::snprintf(text, sizeof text, "%.1e", value);
  } else {
    const int whole_digits = size < 1 ? 0 : static_cast<int>(std::floor(std::log10(size))) + 1;
    const int decimals = whole_digits >= 4 ? 0 : 4 - whole_digits;
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
  }
  return text;
}

inline std::string with_decimals(double value, int decimals) {
  if (std::isnan(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

// "10,000,000"
inline std::string grouped(std::int64_t value) {
  std::string text = std::to_string(value);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(at, ",");
  return text;
}

inline std::string verdict_text(const Row& row) {
  std::string text = status_name(row.verdict.status);
  if (!row.verdict.reason.empty()) text += ": " + row.verdict.reason;
  if (!row.chose.empty()) text += ", took " + row.chose;
  return text;
}

// Without times if no row was timed.
inline void print_table(const ProblemReport& report) {
  std::string title = report.problem;
  for (const auto& [name, value] : report.sizes) title += ", " + name + " = " + grouped(value);
  std::printf("\n%s\n", title.c_str());
  const auto is_timed = [](const Row& row) { return row.timing.samples > 0; };
  if (std::none_of(report.rows.begin(), report.rows.end(), is_timed)) {
    std::printf("%-22s %9s  %s\n", "variant", "max error", "verdict");
    for (const Row& row : report.rows) {
      std::printf("%-22s %9s  %s\n", row.name.c_str(), short_number(row.verdict.max_error).c_str(),
                  verdict_text(row).c_str());
    }
    return;
  }
  std::printf("%-22s %9s %19s %9s %7s %9s %7s %9s  %s\n", "variant", "ms", "min .. max",
              report.show_gflops ? "GFLOP/s" : "GB/s", "% peak", "x seq.", "x lib.", "max error",
              "verdict");
  for (const Row& row : report.rows) {
    const bool timed = is_timed(row);
    const std::string spread =
        timed ? short_number(row.timing.min_ms) + " .. " + short_number(row.timing.max_ms) : "";
    std::printf("%-22s %9s %19s %9s %7s %9s %7s %9s  %s\n", row.name.c_str(),
                timed ? short_number(row.timing.median_ms).c_str() : "-", spread.c_str(),
                short_number(report.show_gflops ? row.gflops : row.gbps).c_str(),
                with_decimals(row.percent_of_roof, 1).c_str(), short_number(row.speedup).c_str(),
                with_decimals(row.ratio_to_peer, 3).c_str(),
                short_number(row.verdict.max_error).c_str(), verdict_text(row).c_str());
    for (const PhaseRow& phase : row.phases) {
      std::printf("  %-20s %9s %19s %9s %7s\n", phase.name.c_str(),
                  short_number(phase.median_ms).c_str(), "",
                  report.show_gflops ? "" : short_number(phase.gbps).c_str(),
                  with_decimals(phase.percent_of_roof, 1).c_str());
    }
  }
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

inline void write_json(JsonWriter& json, const ProblemReport& report) {
  for (const Row& row : report.rows) {
    const bool timed = row.timing.samples > 0;
    json.begin_object();
    json.field("problem", report.problem);
    json.field("name", row.name);
    json.field("kind", row.kind);
    json.field("place", row.place);
    json.key("sizes");
    json.begin_object();
    for (const auto& [name, value] : report.sizes) json.field(name, value);
    json.end_object();
    json.field("median_ms", timed ? row.timing.median_ms : kUnknown);
    json.field("min_ms", timed ? row.timing.min_ms : kUnknown);
    json.field("max_ms", timed ? row.timing.max_ms : kUnknown);
    json.field("samples", row.timing.samples);
    json.field("gbps", row.gbps);
    json.field("gflops", row.gflops);
    json.field("percent_of_roof", row.percent_of_roof);
    json.field("speedup", row.speedup);
    json.field("ratio_to_peer", row.ratio_to_peer);
    json.field("extra_bytes", row.extra_bytes);
    json.field("max_error", row.verdict.max_error);
    json.field("status", status_name(row.verdict.status));
    json.field("reason", row.verdict.reason);
    if (!row.chose.empty()) json.field("chose", row.chose);
    json.key("phases");
    json.begin_array();
    for (const PhaseRow& phase : row.phases) {
      json.begin_object();
      json.field("name", phase.name);
      json.field("median_ms", phase.median_ms);
      json.field("gbps", phase.gbps);
      json.field("percent_of_roof", phase.percent_of_roof);
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
}

inline void write_json(JsonWriter& json, const Sweep& sweep) {
  json.begin_object();
  json.field("problem", sweep.problem);
  json.field("sweep", sweep.name);
  json.key("points");
  json.begin_array();
  for (const auto& point : sweep.points) {
    json.begin_object();
    for (std::size_t i = 0; i < point.size(); ++i) json.field(sweep.columns[i], point[i]);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace bench
