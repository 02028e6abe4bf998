// Counts from an earlier run. To count, a program is built once more, with counters: too much for
// `make run`. It shows what was counted before, unless the sources of a row, or the sizes of its
// problem, have changed since. tools/counts.py knows, and writes the file that KEPT_COUNTS in the
// environment names:
//   01_vector_add: counted by simt at commit d874e64ab012
//   vector_add n=1000003
//   vector_add/grid_stride moved_bytes=12000064 load_sectors=4 store_sectors=4 active_lanes=32
//   vector_add/coarsened
// A line for each chapter, below it one for each problem, with its sizes, and one for each row; a
// row without counts has changed since.
#pragma once

#include <cstdlib>
#include <fstream>
#include <istream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include "common/bench/report.hpp"

namespace bench {

struct KeptCounts {
  std::string about;                   // who counted them, and of what
  std::map<std::string, Sizes> sizes;  // by problem
  std::map<std::string, Counts> rows;  // by problem/variant

  bool were_counted_at(const ProblemReport& report) const {
    const auto found = sizes.find(report.problem);
    return found != sizes.end() && found->second == report.sizes;
  }
};

// word: load_sectors=4
inline void set_count(const std::string& word, Counts& counts) {
  for (const auto& [name, count] : kCountNames) {
    const std::string key = std::string(name) + "=";
    if (word.compare(0, key.size(), key) != 0) continue;
    counts.*count = std::strtod(word.c_str() + key.size(), nullptr);
    return;
  }
  throw std::runtime_error("KEPT_COUNTS: '" + word + "' is no count");
}

// word: n=1000003
inline void set_size(const std::string& word, Sizes& sizes) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) {
    throw std::runtime_error("KEPT_COUNTS: '" + word + "' is no size");
  }
  sizes.emplace_back(word.substr(0, equals), std::strtoll(word.c_str() + equals + 1, nullptr, 10));
}

// Those of one chapter.
inline KeptCounts read_kept_counts(std::istream& file, const std::string& chapter) {
  KeptCounts kept;
  bool is_ours = false;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) {
      is_ours = line.substr(0, colon) == chapter;
      if (is_ours) kept.about = line.substr(colon + 2);
    } else if (is_ours) {
      std::istringstream words(line);
      std::string name;
      words >> name;
      if (name.find('/') == std::string::npos) {
        for (std::string word; words >> word;) set_size(word, kept.sizes[name]);
      } else {
        Counts& counts = kept.rows[name];
        for (std::string word; words >> word;) set_count(word, counts);
      }
    }
  }
  return kept;
}

// Those of the file that KEPT_COUNTS names; none if it names none.
inline KeptCounts kept_counts_of(const std::string& chapter) {
  const char* const name = std::getenv("KEPT_COUNTS");
  if (name == nullptr || *name == '\0') return {};
  std::ifstream file(name);
  if (!file) throw std::runtime_error(std::string("KEPT_COUNTS: cannot read ") + name);
  return read_kept_counts(file, chapter);
}

// The report with the kept counts of those rows that were right, and of which nobody counted
// anything in this run. *changed: the names of rows, wrong ones too, that have changed since they
// were counted, or whose problem has another size now.
inline ProblemReport with_kept_counts(ProblemReport report, const KeptCounts& kept,
                                      std::string* changed) {
  const bool same_size = kept.were_counted_at(report);
  for (Row& row : report.rows) {
    const auto found = kept.rows.find(report.problem + "/" + row.name);
    if (found == kept.rows.end() || row.verdict.status == Status::skipped || row.counts.any()) {
      continue;
    }
    const bool holds = same_size && found->second.any();
    if (!holds) *changed += (changed->empty() ? "" : ", ") + row.name;
    if (holds && row.verdict.status == Status::right) row.counts = found->second;
  }
  return report;
}

}  // namespace bench
