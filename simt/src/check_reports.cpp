#include "check_reports.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "json_writer.h"
#include "options.h"

namespace simt {

CheckReports::CheckReports() : entries_(reports_of_earlier_runs()) {}

std::vector<CheckReports::Entry> CheckReports::all() {
  std::lock_guard<std::mutex> lock(mutex_);
  return entries_;
}

void CheckReports::add(CheckReport report, const std::vector<std::string>& places) {
  std::lock_guard<std::mutex> lock(mutex_);
  Entry* known = nullptr;
  const bool all_named = std::all_of(places.begin(), places.end(), [&](const std::string& place) {
    for (Entry& entry : entries_) {
      const auto& named = entry.places;
      if (entry.report.check != report.check || entry.report.kernel != report.kernel ||
          std::find(named.begin(), named.end(), place) == named.end())
        continue;
      known = &entry;
      return true;
    }
    return false;
  });
  if (all_named) {
    ++known->report.count;
    return;
  }
  report.count = 1;
  if (this_run.number > 0) report.message += std::string("\n  seen with ") + this_run.settings();
  fflush(stdout);  // so that the report stands where it belongs in a combined log
  std::string text;
  std::istringstream lines(report.message);
  for (std::string line; std::getline(lines, line);) text += "simt: " + line + "\n";
  fwrite(text.data(), 1, text.size(), stderr);
  entries_.push_back({places, std::move(report)});
}

std::vector<CheckReport> CheckReports::take() {
  std::lock_guard<std::mutex> lock(mutex_);
  taken_errors_ += errors_locked();
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

void CheckReports::print_summary(uint64_t unwatched) {
  std::lock_guard<std::mutex> lock(mutex_);
  fflush(stdout);
  const size_t errors = errors_locked();
  const auto counted = [](uint64_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  std::string text = counted(launches(), "kernel") + " checked, no errors found";
  if (this_run.count > 1)
    text = counted(launches(), "kernel") + " checked in " + std::to_string(this_run.count) +
           " orders, no errors found";
  if (unwatched > 0) text += "; not looked for: races in " + counted(unwatched, "large array");
  if (errors > 0) {
    text = counted(errors, "error");
  } else if (taken_errors_ > 0) {
    text = counted(launches(), "kernel") + " checked, " + counted(taken_errors_, "error") +
           " found, of which the program knows";
  }
  fprintf(stderr, "simt: %s\n", text.c_str());
}

bool CheckReports::write_json(const std::string& path) {
  return write_json_file("SIMT_CHECK_JSON", path, [this](JsonWriter& json) { write(json); });
}

bool CheckReports::write_sarif(const std::string& path) {
  return write_json_file("SIMT_CHECK_SARIF", path,
                         [this](JsonWriter& json) { write_for_tools(json); });
}

// SARIF 2.1.0: what editors and code hosts read.
void CheckReports::write_for_tools(JsonWriter& json) {
  std::lock_guard<std::mutex> lock(mutex_);
  json.open("{");
  json.member("$schema", std::string("https://json.schemastore.org/sarif-2.1.0.json"));
  json.member("version", std::string("2.1.0"));
  json.name("runs");
  json.open("[");
  json.element();
  json.open("{");
  json.name("tool");
  json.open("{");
  json.name("driver");
  json.open("{");
  json.member("name", std::string("simt"));
  json.close("}");
  json.close("}");
  json.name("results");
  json.open("[");
  for (const Entry& entry : entries_) {
    const CheckReport& r = entry.report;
    json.element();
    json.open("\n{");
    json.member("ruleId", r.check);
    json.member("level", std::string("error"));
    json.name("message");
    json.open("{");
    json.member("text", r.message);
    json.close("}");
    if (!r.file.empty() && r.line > 0) {
      json.name("locations");
      json.open("[");
      json.element();
      json.open("{");
      json.name("physicalLocation");
      json.open("{");
      json.name("artifactLocation");
      json.open("{");
      json.member("uri", r.file);
      json.close("}");
      json.name("region");
      json.open("{");
      json.member("startLine", uint64_t{r.line});
      json.close("}");
      json.close("}");
      json.close("}");
      json.close("]");
    }
    json.close("}");
  }
  json.close("]");
  json.close("}");
  json.close("]");
  json.close("}\n");
}

void CheckReports::write(JsonWriter& json) {
  std::lock_guard<std::mutex> lock(mutex_);
  json.open("{");
  json.member("schema", uint64_t{1});
  if (*sealed_word()) json.member("seal", std::string(sealed_word()));
  json.member("kernels_checked", launches());
  json.member("errors", uint64_t{errors_locked()});
  json.name("reports");
  json.open("[");
  for (const Entry& entry : entries_) {
    const CheckReport& r = entry.report;
    json.element();
    json.open("\n{");
    json.member("check", r.check);
    json.member("kernel", r.kernel);
    json.member("file", r.file);
    json.member("line", uint64_t{r.line});
    json.member("count", r.count);
    json.member("message", r.message);
    json.close("}");
  }
  json.close("]");
  json.close("}\n");
}

}  // namespace simt
