// What a test program has found out so far, and how it hands that to its next process (main.cpp).
#pragma once

#include <algorithm>
#include <istream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace tests {

// Something that is broken: a rung, or without a name whatever one test is about.
struct Broken {
  std::string rung;
  std::string text;
  int more_tests = 0;  // that failed because of the same rung

  std::string line() const {
    std::string line = rung + text;
    if (more_tests == 1) line += " (and in 1 more test)";
    if (more_tests > 1) line += " (and in " + std::to_string(more_tests) + " more tests)";
    return line;
  }
};

// Line breaks and what surrounds them become "; ".
inline std::string on_one_line(const std::string& text) {
  std::istringstream lines(text);
  std::string all;
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(" \t"));
    std::replace(line.begin(), line.end(), '\t', ' ');  // which separates the columns of a tally
    if (!line.empty()) all += (all.empty() ? "" : "; ") + line;
  }
  return all;
}

struct Tally {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  std::map<std::string, int> reasons;  // reason of a skip -> how often
  std::vector<Broken> broken;
  std::set<std::string> judged_cases;
  std::set<std::string> judged_sections;  // of the case that is not finished: "case > section"

  void add(const Broken& one) {
    const auto same = [&one](const Broken& other) {
      return !one.rung.empty() && other.rung == one.rung;
    };
    const auto known = std::find_if(broken.begin(), broken.end(), same);
    if (known != broken.end()) {
      ++known->more_tests;
    } else {
      broken.push_back({on_one_line(one.rung), on_one_line(one.text), one.more_tests});
    }
  }
};

// A line for each value: what it is, a number, and texts, with tabs between them.
inline std::string to_text(const Tally& tally) {
  std::ostringstream text;
  text << "passed\t" << tally.passed << "\nfailed\t" << tally.failed << "\nskipped\t"
       << tally.skipped << '\n';
  for (const auto& [reason, count] : tally.reasons) {
    text << "reason\t" << count << '\t' << reason << '\n';
  }
  for (const Broken& one : tally.broken) {
    text << "broken\t" << one.more_tests << '\t' << one.rung << '\t' << one.text << '\n';
  }
  for (const std::string& name : tally.judged_cases) text << "case\t0\t" << name << '\n';
  for (const std::string& path : tally.judged_sections) text << "section\t0\t" << path << '\n';
  return text.str();
}

inline Tally tally_from(std::istream& text) {
  Tally tally;
  for (std::string line; std::getline(text, line);) {
    std::istringstream columns(line);
    std::string kind, number, first, second;
    std::getline(columns, kind, '\t');
    std::getline(columns, number, '\t');
    std::getline(columns, first, '\t');
    std::getline(columns, second);
    const int count = std::stoi(number);
    if (kind == "passed") tally.passed = count;
    if (kind == "failed") tally.failed = count;
    if (kind == "skipped") tally.skipped = count;
    if (kind == "reason") tally.reasons[first] = count;
    if (kind == "broken") tally.broken.push_back({first, second, count});
    if (kind == "case") tally.judged_cases.insert(first);
    if (kind == "section") tally.judged_sections.insert(first);
  }
  return tally;
}

}  // namespace tests
