// What a chapter's program prints and writes: the machine, what was found, a legend, JSON.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "common/bench/command_line.hpp"
#include "common/bench/cpu_facts.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/json.hpp"
#include "common/bench/kept_counts.hpp"
#include "common/bench/ladder.cuh"
#include "common/bench/lines.hpp"
#include "common/bench/provenance.hpp"
#include "common/bench/report.hpp"
#include "common/bench/table.hpp"
#include "common/bench/timeline.hpp"

namespace bench {

// What a report's object says of the device: "device", "toolkit" and "driver".
inline void write_members(JsonWriter& json, const DeviceFacts& device) {
  json.key("device");
  if (device.available) {
    json.begin_object();
    json.field("name", device.name);
    json.field("compute_capability",
               std::to_string(device.major) + "." + std::to_string(device.minor));
    json.field("multiprocessors", device.multiprocessors);
    json.field("peak_bandwidth_gbps", device.peak_bandwidth_gbps);
    json.field("peak_fp32_gflops", device.peak_fp32_gflops);
    json.field("l2_bytes", device.l2_bytes);
    json.field("memory_bytes", device.memory_bytes);
    json.end_object();
  } else {
    json.value(kUnknown);
  }
  json.field("toolkit", version_text(device.runtime_version));
  json.field("driver", version_text(device.driver_version));
}

template <class Found>
void write_array(JsonWriter& json, const char* key, const std::vector<Found>& all) {
  json.key(key);
  json.begin_array();
  for (const Found& one : all) write_json(json, one);
  json.end_array();
}

class Output {
 public:
  Output(const Chapter& chapter, const Asked& asked) : chapter_(chapter), asked_(asked) {
    if (runs_on_model()) kept_counts_ = kept_counts_of(chapter.name);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  bool failed() const { return failed_; }

  // One paragraph that says what the numbers below it were measured on.
  void print_machine() const {
    const RunSettings& run = asked_.run;
    const DeviceFacts& gpu = run.device;
    print(chapter_.summary);
    if (gpu.available) {
      const std::string state = gpu_state();
      print("GPU    " + gpu.name + ", sm_" + std::to_string(gpu.compute_capability()) + ", " +
            std::to_string(gpu.multiprocessors) + " SMs, " + known(gpu.peak_bandwidth_gbps) +
            " GB/s, " + known(gpu.peak_fp32_gflops / 1e3) + " TFLOP/s fp32" +
            (state.empty() ? "" : ", now " + state) + "; CUDA " +
            version_text(gpu.runtime_version) + ", driver " + version_text(gpu.driver_version));
      if (!gpu.is_real_gpu()) {
        print(std::string("       kernels run on the CPU here: ") +
              (run.time_model ? "their times say nothing about a GPU"
                              : "they are checked, not timed (see --times)"));
      }
    } else {
      print("GPU    none: " + gpu.reason);
    }
    print("CPU    " + cpu_.model + ", " + std::to_string(cpu_.threads) + " threads");
    if (run.quick) print("Timed  for a short look, with few samples; without --quick with more");
    print("Built  " + compiler_text() + "; " + BUILD_FLAGS);
  }

  // Prints and keeps what was found. Throws after a CUDA error: no later result could be trusted.
  void show(const Shown& shown) {
    for (const auto& one : shown) {
      std::visit([this](const auto& found) { add(found); }, one);
    }
  }

  // Below all tables: what their columns mean, and where the CPU ran kernels, who counts.
  void print_legend() const {
    if (!columns_shown_.empty()) std::printf("\n");
    for (const Column& column : columns_shown_) {
      std::printf("%-10s%s\n", column.title.c_str(), column.meaning.c_str());
    }
    if (runs_on_model() && !asked_.run.verify_only) {
      std::printf("\nWhat kernels do to memory and warps is counted by: %s\n",
                  make_command("profile").c_str());
    }
  }

  std::string json_text() const {
    JsonWriter json;
    json.begin_object();
    json.field("schema", 1);
    json.field("program", chapter_.name);
    json.field("arguments", asked_.arguments);
    write_members(json, asked_.run.device);
    json.key("cpu");
    json.begin_object();
    json.field("model", cpu_.model);
    json.field("threads", cpu_.threads);
    json.end_object();
    json.field("gpu_state", gpu_state());
    json.field("compiler", compiler_text());
    json.field("flags", BUILD_FLAGS);
    json.field("commit", commit());
    json.field("date", utc_now());
    json.field("seed", static_cast<std::int64_t>(asked_.run.seed));
    json.field("mode", asked_.run.cold ? "cold" : "warm");
    write_array(json, "rows", reports_);
    write_array(json, "sweeps", sweeps_);
    if (!timelines_.empty()) write_array(json, "timelines", timelines_);
    json.end_object();
    return json.text() + "\n";
  }

 private:
  void add(const std::string& text) { std::fputs(text.c_str(), stdout); }
  void add(const Sweep& sweep) {
    if (sweep.is_printed) print_table(sweep);
    sweeps_.push_back(sweep);
  }
  void add(const Timeline& timeline) {
    print_timeline(timeline);
    timelines_.push_back(timeline);
  }
  void add(const ProblemReport& report) {
    print_with_counts(report);
    for (const Row& row : report.rows) failed_ = failed_ || row.verdict.status == Status::wrong;
    reports_.push_back(report);
    if (report.error.empty()) return;
    std::string message = report.problem + "/" + report.error;
    if (cudaDeviceSynchronize() != cudaSuccess) {  // it came from inside a kernel
      message += " (" + make_command("sanitize") + " finds the line)";
    }
    throw std::runtime_error(message);
  }

  // A table, of kernels that the CPU ran with what was counted of them before.
  void print_with_counts(const ProblemReport& report) {
    std::string changed;
    const ProblemReport shown = with_kept_counts(report, kept_counts_, &changed);
    print_table(shown);
    for (const Column& column : columns_shown(shown)) {
      if (shown_titles_.insert(column.title).second) columns_shown_.push_back(column);
    }
    if (has_counts(shown) && !kept_counts_.about.empty()) {
      std::printf("%s\n", wrapped(kept_counts_.about, 4).c_str());
    }
    if (!changed.empty()) {
      const std::string text =
          "changed since counted: " + changed + " (" + make_command("profile") + " counts anew)";
      std::printf("%s\n", wrapped(text, 4).c_str());
    }
  }

  bool runs_on_model() const {
    return asked_.run.device.available && !asked_.run.device.is_real_gpu();
  }
  // "make profile-01"
  std::string make_command(const std::string& goal) const {
    return "make " + goal + "-" + chapter_.name.substr(0, chapter_.name.find('_'));
  }
  static void print(const std::string& text) { std::printf("%s\n", wrapped(text, 7).c_str()); }
  static std::string known(double figure) { return figure > 0 ? short_number(figure) : "?"; }

  const Chapter& chapter_;
  const Asked& asked_;
  CpuFacts cpu_ = query_cpu();
  std::vector<ProblemReport> reports_;
  std::vector<Sweep> sweeps_;
  std::vector<Timeline> timelines_;
  KeptCounts kept_counts_;
  std::vector<Column> columns_shown_;  // of all tables, each once
  std::set<std::string> shown_titles_;
  bool failed_ = false;
};

}  // namespace bench
