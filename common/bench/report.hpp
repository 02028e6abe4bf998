// What a run found out: rows, the numbers in them as text, and JSON. Tables are in table.hpp.
#pragma once

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

// outside: wrong by the bound of the other rows, as a yardstick may be that promises less than they
// do: it is shown and timed, and no failure.
enum class Status { right, wrong, outside, skipped };

inline bool may_be_timed(Status status) {
  return status == Status::right || status == Status::outside;
}

inline const char* status_name(Status status) {
  switch (status) {
    case Status::right: return "right";
    case Status::wrong: return "wrong";
    case Status::outside: return "outside the bound";
    case Status::skipped: return "skipped";
  }
  return "";
}

// How a variant's result compared with the reference. `reason` says why not, unless right.
struct Verdict {
  Status status = Status::skipped;
  double max_error = kUnknown;
  std::string reason;
  double ms = 0;  // that the run took which was judged, on the host's clock
};

// A named part of a row's time, with its own rate.
struct PhaseRow {
  std::string name;
  double median_ms = kUnknown;
  double gbps = kUnknown;
  double percent_of_roof = kUnknown;
};

// What a model GPU counted in one run of a row, all of its kernels together (model_counts.cuh). A
// request is a load or a store of a warp, a sector a piece of 32 bytes of global memory.
struct Counts {
  double moved_bytes = kUnknown;        // whole sectors, and by TMA
  double load_sectors = kUnknown;       // for each request
  double store_sectors = kUnknown;      // the same
  double conflict = kUnknown;           // passes through shared memory for each one needed
  double active_lanes = kUnknown;       // for each instruction of a warp
  double barriers = kUnknown;           // instructions of warps
  double atomics = kUnknown;            // the same
  double tensor_operations = kUnknown;  // a product and a sum are two

  bool any() const { return !std::isnan(active_lanes); }  // every kernel has instructions
};

// The name of each count in files.
constexpr std::pair<const char*, double Counts::*> kCountNames[] = {
    {"moved_bytes", &Counts::moved_bytes},
    {"load_sectors", &Counts::load_sectors},
    {"store_sectors", &Counts::store_sectors},
    {"conflict", &Counts::conflict},
    {"active_lanes", &Counts::active_lanes},
    {"barriers", &Counts::barriers},
    {"atomics", &Counts::atomics},
    {"tensor_operations", &Counts::tensor_operations},
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
  Counts counts;
};

using Sizes = std::vector<std::pair<std::string, std::int64_t>>;  // {{"n", 1000}}

// All rows of one problem at one size.
struct ProblemReport {
  std::string problem;
  Sizes sizes;
  bool show_gflops = false;  // which rate the table shows: GFLOP/s instead of GB/s
  std::vector<Row> rows;
  std::string error = {};  // of the variant after which none could run, with its name; empty: none
};

// A sweep: named columns over a list of points, e.g. block size against time.
struct Sweep {
  std::string problem;
  std::string name;  // what is swept
  std::vector<std::string> columns;
  std::vector<std::vector<double>> points;  // one value per column
  bool is_printed = true;                   // or only in the JSON: a text shows its numbers
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
    if (row.counts.any()) {
      json.key("counts");
      json.begin_object();
      for (const auto& [name, count] : kCountNames) json.field(name, row.counts.*count);
      json.end_object();
    }
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
