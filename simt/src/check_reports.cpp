#include "check_reports.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace simt {

std::string json_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      snprintf(escape, sizeof escape, "\\u%04x", c);
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

void CheckReports::add(CheckReport report, const std::string& where) {
  const std::string key = report.check + "\n" + report.kernel + "\n" + where;
  std::lock_guard<std::mutex> lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.key != key) continue;
    ++entry.report.count;
    return;
  }
  report.count = 1;
  fflush(stdout);  // so that the report stands where it belongs in a combined log
  std::string text;
  std::istringstream lines(report.message);
  for (std::string line; std::getline(lines, line);) text += "simt: " + line + "\n";
  fwrite(text.data(), 1, text.size(), stderr);
  entries_.push_back({key, std::move(report)});
}

std::vector<CheckReport> CheckReports::take() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<CheckReport> taken;
  for (Entry& entry : entries_) taken.push_back(std::move(entry.report));
  entries_.clear();
  return taken;
}

size_t CheckReports::errors_locked() const {
  // What simt cannot run is no mistake of the program: its launch fails, and says so to the caller.
  return std::count_if(entries_.begin(), entries_.end(),
                       [](const Entry& entry) { return entry.report.check != "unsupported"; });
}

bool CheckReports::any_errors() {
  std::lock_guard<std::mutex> lock(mutex_);
  return errors_locked() > 0;
}

void CheckReports::print_summary() {
  std::lock_guard<std::mutex> lock(mutex_);
  fflush(stdout);
  const size_t errors = errors_locked();
  if (errors == 0) {
    fprintf(stderr, "simt: %llu kernel%s checked, no errors found\n",
            static_cast<unsigned long long>(launches()), launches() == 1 ? "" : "s");
  } else {
    fprintf(stderr, "simt: %zu error%s\n", errors, errors == 1 ? "" : "s");
  }
}

void CheckReports::write_json(const std::string& path) {
  FILE* file = fopen(path.c_str(), "w");
  if (file == nullptr) {
    perror(("simt: SIMT_CHECK_JSON=" + path).c_str());
    return;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  fprintf(file, "{\"schema\":1,\"kernels_checked\":%llu,\"errors\":%zu,\"reports\":[",
          static_cast<unsigned long long>(launches()), errors_locked());
  const char* comma = "";
  for (const Entry& entry : entries_) {
    const CheckReport& r = entry.report;
    fprintf(
        file,
        "%s\n{\"check\":%s,\"kernel\":%s,\"file\":%s,\"line\":%u,\"count\":%llu,\"message\":%s}",
        comma, json_string(r.check).c_str(), json_string(r.kernel).c_str(),
        json_string(r.file).c_str(), r.line, static_cast<unsigned long long>(r.count),
        json_string(r.message).c_str());
    comma = ",";
  }
  fprintf(file, "]}\n");
  fclose(file);
}

}  // namespace simt
