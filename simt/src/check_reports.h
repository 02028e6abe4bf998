// Where violations end up: printed once per place, counted, and told at the end of the program.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "simt/profile.h"

namespace simt {

class JsonWriter;

class CheckReports {
 public:
  struct Entry {
    std::vector<std::string> places;
    CheckReport report;
  };
  // What earlier runs of the program have found (check_orders.cpp).
  CheckReports();
  std::vector<Entry> all();

  // Adds a report and prints its message, unless reports of the same check and kernel have named
  // all its places already; then it is only counted. (A race has two places. A missing barrier
  // makes many pairs of a few lines; each line is told once.)
  void add(CheckReport report, const std::vector<std::string>& places);

  void count_launch() { __atomic_fetch_add(&launches_, 1, __ATOMIC_RELAXED); }
  uint64_t launches() const { return __atomic_load_n(&launches_, __ATOMIC_RELAXED); }

  std::vector<CheckReport> take();
  // True if a report tells of a mistake: such a run must not end with status 0.
  bool any_errors();

  // "simt: N kernels checked, no errors found" or "simt: N errors", on stderr; of what was taken
  // that the program knows of it. unwatched: arrays too large to be checked for races.
  void print_summary(uint64_t unwatched);
  // False, after a line on stderr, if the file could not be written.
  bool write_json(const std::string& path);
  bool write_sarif(const std::string& path);

 private:
  size_t errors_locked() const;  // by whoever holds mutex_
  void write(JsonWriter& json);
  void write_for_tools(JsonWriter& json);

  std::mutex mutex_;
  std::vector<Entry> entries_;
  size_t taken_errors_ = 0;
  uint64_t launches_ = 0;
};

// ---- check_orders.cpp

// The reports of this program's runs so far, and of this one to those that follow.
std::vector<CheckReports::Entry> reports_of_earlier_runs();
void pass_on_reports(const std::vector<CheckReports::Entry>& entries);

}  // namespace simt
