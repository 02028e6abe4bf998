// The same kernels on simt itself, for the test: each line of stdin is a call, `copy 1 5000 0`, and
// is answered by the answer, the counts, and the lines that race.

#include <cstdio>
#include <iostream>
#include <regex>
#include <set>
#include <sstream>

#include "kernels.cu"

// "tiled.cuh:27" for each line that a report of a race names.
std::set<std::string> racing_lines() {
  std::set<std::string> lines;
  const std::regex place("at (?:\\S*/)?([^/\\s]+:[0-9]+):");
  for (const simt::CheckReport& report : reports) {
    if (report.check != "race") continue;
    for (std::sregex_iterator at(report.message.begin(), report.message.end(), place), end;
         at != end; ++at)
      lines.insert((*at)[1]);
  }
  return lines;
}

int main() {
  for (std::string line, name; std::getline(std::cin, line);) {
    std::istringstream words(line);
    int v[5] = {};
    words >> name;
    for (int& value : v) words >> value;
    int said = -1;
    if (name == "vector_add") said = run_vector_add(v[0], v[1], v[2], v[3], v[4]);
    if (name == "branch") said = run_branch(v[0], v[1], v[2], v[3]);
    if (name == "copy") said = run_copy(v[0], v[1], v[2], v[3], v[4]);
    if (name == "transpose") said = run_transpose(v[0], v[1], v[2], v[3]);
    if (name == "product") said = run_product(v[0], v[1], v[2], v[3], v[4]);
    if (name == "sum") said = run_sum(v[0], v[1], v[2]);
    const double* all = counts();
    std::printf("%d", said);
    for (int i = 0; i < kCounts; ++i) std::printf(" %.0f", all[i]);
    for (const std::string& line : racing_lines()) std::printf(" %s", line.c_str());
    std::printf("\n");
  }
}
