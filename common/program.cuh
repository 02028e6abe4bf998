// The frame of every chapter's program: command line, what machine this is, the report, the exit
// status. harness.cuh runs the variants inside this frame.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "common/cpu_facts.hpp"
#include "common/device_facts.cuh"
#include "common/json.hpp"
#include "common/options.hpp"
#include "common/report.hpp"
#include "common/variant.cuh"

// The Makefile says how it built the program; a build by hand need not.
#ifndef BUILD_FLAGS
#define BUILD_FLAGS "flags unknown: not built by make"
#endif

namespace common {

// First line that `command` prints, without its newline; empty if it fails or prints nothing.
inline std::string first_line_of(const std::string& command) {
  std::string line;
  if (FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r")) {
    char text[256];
    if (std::fgets(text, sizeof text, pipe) != nullptr) line = text;
    pclose(pipe);
  }
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  return line;
}

inline std::string compiler_text() {
  std::string text;
#if defined(__SIMT__)
  text = "simt, ";
#elif defined(__CUDACC_VER_MAJOR__)
  text = "nvcc " + std::to_string(__CUDACC_VER_MAJOR__) + "." +
         std::to_string(__CUDACC_VER_MINOR__) + "." + std::to_string(__CUDACC_VER_BUILD__) + ", ";
#endif
  return text + "g++ " __VERSION__;
}

class Program {
 public:
  // name: the chapter's folder. summary: one line for --help.
  Program(std::string name, std::string summary)
      : name_(std::move(name)), summary_(std::move(summary)) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    options_.add_flag("list", "print the variants, one a line, and stop", [this] { list_ = true; });
    options_.add_value("only", "A,B", "run only these variants (or problems)",
                       [this](const std::string& text) { only_ = split_commas(text); });
    options_.add_flag("verify", "run and check each variant once, time nothing",
                      [this] { verify_only_ = true; });
    options_.add_integer("repeats", "samples of each variant (default: until steady)", &repeats_, 1,
                         1'000'000);
    options_.add_integer("seed", "seed of the random input (default 1)", &seed_, 0, kMost);
    options_.add_flag("cold", "empty the L2 cache before each sample (default)",
                      [this] { cold_ = true; });
    options_.add_flag("warm", "do not empty it", [this] { cold_ = false; });
    options_.add_value("json", "FILE", "write the results there as well",
                       [this](const std::string& text) { json_file_ = text; });
    options_.add_flag("help", "print this and stop", [this] { help_ = true; });
  }

  // The chapter adds its own options here, before main().
  OptionParser& options() { return options_; }

  // Parses the command line, runs `body`, prints and writes the report. Exit status: 0 if every
  // variant that ran was right, 1 after a wrong result or a CUDA error, 2 after a usage error.
  int main(int argc, char** argv, const std::function<void(Program&)>& body) {
    try {
      options_.parse(argc, argv);
      if (help_) {
        std::printf("%s: %s\n\n", name_.c_str(), summary_.c_str());
        options_.print_help();
        return 0;
      }
      if (!list_) require_writable("json", json_file_);
      for (int i = 1; i < argc; ++i) arguments_ += (i > 1 ? " " : "") + std::string(argv[i]);
      device_ = query_device();
      cpu_ = query_cpu();
      body(*this);
      if (!list_ && !json_file_.empty()) write_report();
      return failed_ ? 1 : 0;
    } catch (const UsageError& error) {
      std::fprintf(stderr, "%s: %s\n", name_.c_str(), error.what());
      return 2;
    } catch (const std::bad_alloc&) {
      std::fprintf(stderr, "%s: not enough host memory\n", name_.c_str());
      return 2;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", name_.c_str(), error.what());
      return 1;
    }
  }

  // Those of `variants` that --only asks for: by name, or by the name of their problem. Call it
  // for every problem, then selection_done().
  template <class Problem>
  std::vector<Variant<Problem>> select(const std::string& problem,
                                       const std::vector<Variant<Problem>>& variants) {
    std::vector<Variant<Problem>> selected;
    for (const auto& variant : variants) {
      bool wanted = only_.empty();
      for (const std::string& name : only_) {
        if (name == problem || name == variant.name || name == problem + "/" + variant.name) {
          wanted = true;
          found_.push_back(name);
        }
      }
      if (!wanted) continue;
      selected.push_back(variant);
      const std::string full_name = problem + "/" + variant.name;
      if (list_) std::printf("%-32s %s\n", full_name.c_str(), variant.idea.c_str());
    }
    return selected;
  }

  // True if there is something to run. Throws UsageError if --only named a variant unknown to all.
  bool selection_done() const {
    for (const std::string& name : only_) {
      if (std::find(found_.begin(), found_.end(), name) == found_.end()) {
        throw UsageError("--only: no variant '" + name + "' (--list names them)");
      }
    }
    return !list_;
  }

  // Refuses sizes that cannot fit, before anything is allocated. Bytes as double: no overflow.
  void require_memory(double host_bytes, double device_bytes) const {
    const auto refuse = [](const char* where, double need, double have) {
      throw UsageError("needs " + short_number(need / 1e9) + " GB of " + where + " memory, " +
                       short_number(have / 1e9) + " GB are free: choose a smaller size");
    };
    if (cpu_.available_bytes > 0 && host_bytes > cpu_.available_bytes) {
      refuse("host", host_bytes, cpu_.available_bytes);
    }
    if (device_.available) {
      std::size_t free_bytes = 0, total_bytes = 0;
      CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
      const double free = static_cast<double>(free_bytes);
      if (device_bytes > free) refuse("device", device_bytes, free);
    }
  }

  // One paragraph that says what the numbers below it were measured on.
  void print_machine() const {
    std::printf("%s\n", summary_.c_str());
    if (device_.available) {
      std::printf("GPU    %s, sm_%d, %d SMs, %s GB/s, %s TFLOP/s fp32%s; CUDA %s, driver %s\n",
                  device_.name.c_str(), device_.compute_capability(), device_.multiprocessors,
                  known(device_.peak_bandwidth_gbps).c_str(),
                  known(device_.peak_fp32_gflops / 1e3).c_str(), gpu_state().c_str(),
                  version_text(device_.runtime_version).c_str(),
                  version_text(device_.driver_version).c_str());
      if (!device_.keeps_time()) {
        std::printf("       kernels run on the CPU here: their times say nothing about a GPU\n");
      }
    } else {
      std::printf("GPU    none: %s\n", device_.reason.c_str());
    }
    std::printf("CPU    %s, %d threads\n", cpu_.model.c_str(), cpu_.threads);
    std::printf("Built  %s; %s\n", compiler_text().c_str(), BUILD_FLAGS);
  }

  void add(const ProblemReport& report) {
    print_table(report);
    for (const Row& row : report.rows) failed_ = failed_ || row.verdict.status == Status::wrong;
    reports_.push_back(report);
  }
  void add(const Sweep& sweep) {
    print_table(sweep);
    record(sweep);
  }
  // Keeps a sweep for the JSON, for a chapter that prints its numbers in a form of its own.
  void record(const Sweep& sweep) { sweeps_.push_back(sweep); }

  // A line on stderr that the next one replaces; only where a person watches.
  void progress(const std::string& text) const {
    static const bool is_terminal = isatty(STDERR_FILENO) != 0;
    if (is_terminal) std::fprintf(stderr, "\r\033[K%s", text.c_str());
  }

  const DeviceFacts& device() const { return device_; }
  bool verify_only() const { return verify_only_; }
  bool cold() const { return cold_; }
  int repeats() const { return static_cast<int>(repeats_); }  // 0: until steady
  std::uint64_t seed() const { return static_cast<std::uint64_t>(seed_); }

 private:
  static std::string known(double figure) { return figure > 0 ? short_number(figure) : "?"; }

  // Clock and power at this moment, e.g. ", now 1980 MHz, 120 W"; empty without nvidia-smi.
  static std::string gpu_state() {
    const std::string line =
        first_line_of("nvidia-smi --query-gpu=clocks.sm,power.draw --format=csv,noheader");
    return line.empty() ? "" : ", now " + line;
  }

  void write_report() const {
    JsonWriter json;
    json.begin_object();
    json.field("schema", 1);
    json.field("program", name_);
    json.field("arguments", arguments_);
    json.key("device");
    if (device_.available) {
      json.begin_object();
      json.field("name", device_.name);
      json.field("compute_capability",
                 std::to_string(device_.major) + "." + std::to_string(device_.minor));
      json.field("multiprocessors", device_.multiprocessors);
      json.field("peak_bandwidth_gbps", device_.peak_bandwidth_gbps);
      json.field("peak_fp32_gflops", device_.peak_fp32_gflops);
      json.field("l2_bytes", device_.l2_bytes);
      json.field("memory_bytes", device_.memory_bytes);
      json.end_object();
    } else {
      json.value(kUnknown);
    }
    json.key("cpu");
    json.begin_object();
    json.field("model", cpu_.model);
    json.field("threads", cpu_.threads);
    json.end_object();
    json.field("toolkit", version_text(device_.runtime_version));
    json.field("driver", version_text(device_.driver_version));
    json.field("gpu_state", gpu_state());
    json.field("compiler", compiler_text());
    json.field("flags", BUILD_FLAGS);
    json.field("commit", commit());
    json.field("date", utc_now());
    json.field("seed", seed_);
    json.field("mode", cold_ ? "cold" : "warm");
    json.key("rows");
    json.begin_array();
    for (const ProblemReport& report : reports_) write_json(json, report);
    json.end_array();
    json.key("sweeps");
    json.begin_array();
    for (const Sweep& sweep : sweeps_) write_json(json, sweep);
    json.end_array();
    json.end_object();
    std::ofstream file(json_file_);
    file << json.text() << '\n';
    if (!file.flush()) throw UsageError("--json: cannot write " + json_file_);
  }

  // The commit of the sources: COMMIT from the environment (a copy without .git), else git's word.
  static std::string commit() {
    if (const char* given = std::getenv("COMMIT")) return given;
    const std::string line = first_line_of("git describe --always --dirty --abbrev=12");
    return line.empty() ? "unknown" : line;
  }

  static std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    return text;
  }

  std::string name_;
  std::string summary_;
  OptionParser options_;
  bool list_ = false;
  bool help_ = false;
  bool verify_only_ = false;
  bool cold_ = true;
  std::int64_t repeats_ = 0;
  std::int64_t seed_ = 1;
  std::vector<std::string> only_;
  std::vector<std::string> found_;  // of only_
  std::string json_file_;
  std::string arguments_;
  DeviceFacts device_;
  CpuFacts cpu_;
  std::vector<ProblemReport> reports_;
  std::vector<Sweep> sweeps_;
  bool failed_ = false;
};

}  // namespace common
