// The frame of every chapter's program: command line, what machine this is, the report, the exit
// status.
//
// main() adds the chapter's ladders and runs the frame:
//   bench::Program program("01_vector_add", "y = x + y");
//   program.add(ladders::vector_add());
//   return program.main(argc, argv);
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/bench/cpu_facts.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/ending.hpp"
#include "common/bench/harness.cuh"
#include "common/bench/json.hpp"
#include "common/bench/kept_counts.hpp"
#include "common/bench/ladder.cuh"
#include "common/bench/lines.hpp"
#include "common/bench/options.hpp"
#include "common/bench/output_file.hpp"
#include "common/bench/provenance.hpp"
#include "common/bench/report.hpp"
#include "common/bench/run_settings.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/table.hpp"
#include "common/bench/timeline.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"

namespace bench {

// Memory that a run of the ladder takes: what the ladder says of its problem, and the buffer that
// flushes the cache.
template <class Problem>
MemoryNeed need_of(const Ladder<Problem>& ladder, const Settings& settings,
                   const RunSettings& run) {
  MemoryNeed need = ladder.memory ? ladder.memory(settings, run) : MemoryNeed{};
  need.device += flush_bytes(run);
  return need;
}

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

// A ladder without the type of its problem: what a translation unit of ladders gives to main(),
// which so needs none of their headers.
class AnyLadder {
 public:
  template <class Problem>
  AnyLadder(Ladder<Problem> ladder);

  std::function<void(Program&)> add_to;
};
using Ladders = std::vector<AnyLadder>;

class Program {
 public:
  // name: the chapter's folder. summary: one line for --help.
  Program(std::string name, std::string summary)
      : name_(std::move(name)), summary_(std::move(summary)) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    options_.add_flag("list", "print the variants, one a line, and stop", [this] { list_ = true; });
    options_.add_value("only", "A,B", "run only these variants, problems or @tags",
                       [this](const std::string& text) { only_ = split_commas(text); });
    options_.add_flag("verify", "run and check each variant, time nothing",
                      [this] { run_.verify_only = true; });
    options_.add_flag("times", "time kernels that the CPU runs, too: no times of a GPU",
                      [this] { time_every_place(); });
    options_.add_flag("quick", "a short look: fewer samples, the slowest loops left out",
                      [this] { run_.quick = true; });
    options_.add_flag("slow", "run slow variants at any size", [this] { run_.slow = true; });
    options_.add_integer("repeats", "samples of each variant (default: until steady)", &repeats_, 1,
                         1'000'000);
    options_.add_integer("seed", "seed of the random input (default 1)", &seed_, 0, kMost);
    options_.add_flag("cold", "fill the L2 cache with other data before each sample (default)",
                      [this] { cold_ = true; });
    options_.add_flag("warm", "leave in the L2 cache what the run before left there",
                      [this] { warm_ = true; });
    options_.add_value("json", "FILE", "write the results there as well",
                       [this](const std::string& text) {
                         if (text.empty()) throw UsageError("--json needs a file's name");
                         json_file_ = text;
                       });
    options_.add_flag("help", "print this and stop", [this] { help_ = true; });
    run_.progress = [this](const std::string& text) { progress(text); };
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // A chapter with an option of its own adds it here, before main().
  OptionParser& options() { return options_; }

  // Runs `ladder` after those added before it. Ladders may share a setting: its first help is
  // shown.
  template <class Problem>
  void add(Ladder<Problem> ladder) {
    add_settings(ladder.settings);
    for (const auto& sweep : ladder.sweeps) add_sweep_help(sweep.name, sweep.help);
    entries_.push_back(entry_of(std::make_shared<Ladder<Problem>>(std::move(ladder))));
  }

  void add(const Ladders& ladders) {
    for (const AnyLadder& ladder : ladders) ladder.add_to(*this);
  }

  // --demo NAME shows something instead of running the ladders.
  void add_demo(const std::string& name, const std::string& help,
                std::function<void(const Program&)> show) {
    demos_.push_back({name, help, std::move(show)});
  }

  // Runs once the ladders have run, before the JSON is written: draws what they found, for
  // instance.
  void at_end(std::function<void(Program&)> finish) { at_end_.push_back(std::move(finish)); }

  // Parses the command line, runs what it asks for, prints and writes the report. Exit status: 0 if
  // every variant that ran was right, 1 after a wrong result or a CUDA error, 2 after a mistake in
  // the command line. Programs without ladders have a body of their own.
  int main(int argc, char** argv, const std::function<void(Program&)>& body = &Program::run) {
    const EndingTold told(name_);
    int status = 1;
    try {
      status = main_or_throw(argc, argv, body);
    } catch (const UsageError& error) {
      status = complain(2, error.what());
    } catch (const std::bad_alloc&) {
      status = complain(2, "not enough host memory");
    } catch (const std::exception& error) {
      status = complain(1, error.what());
    }
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      return complain(1, "cannot write to standard output");
    }
    return status;
  }

  // Those of `variants` that --only asks for: by name, by tag, or by the name of their problem.
  template <class Problem>
  std::vector<Variant<Problem>> select(const std::string& problem,
                                       const std::vector<Variant<Problem>>& variants) {
    std::vector<Variant<Problem>> selected;
    for (const auto& variant : variants) {
      bool wanted = only_.empty();
      for (const std::string& name : only_) {
        if (is_meant(name, problem, variant.name, variant.tags)) {
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
    // Where the CPU runs the kernels, it holds the device's memory, too.
    const bool is_shared = device().available && !device().is_real_gpu();
    const double on_host = host_bytes + (is_shared ? device_bytes : 0);
    if (cpu_.available_bytes > 0 && on_host > cpu_.available_bytes) {
      refuse("host", on_host, cpu_.available_bytes);
    }
    if (device().available) {
      std::size_t free_bytes = 0, total_bytes = 0;
      CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
      const double free = static_cast<double>(free_bytes);
      if (device_bytes > free) refuse("device", device_bytes, free);
    }
  }
  void require_memory(const MemoryNeed& need) const { require_memory(need.host, need.device); }

  // One paragraph that says what the numbers below it were measured on.
  void print_machine() const {
    const DeviceFacts& gpu = device();
    const auto print = [](const std::string& text) {
      std::printf("%s\n", wrapped(text, 7).c_str());
    };
    print(summary_);
    if (gpu.available) {
      const std::string state = gpu_state();
      print("GPU    " + gpu.name + ", sm_" + std::to_string(gpu.compute_capability()) + ", " +
            std::to_string(gpu.multiprocessors) + " SMs, " + known(gpu.peak_bandwidth_gbps) +
            " GB/s, " + known(gpu.peak_fp32_gflops / 1e3) + " TFLOP/s fp32" +
            (state.empty() ? "" : ", now " + state) + "; CUDA " +
            version_text(gpu.runtime_version) + ", driver " + version_text(gpu.driver_version));
      if (!gpu.is_real_gpu()) {
        print(std::string("       kernels run on the CPU here: ") +
              (run_.time_model ? "their times say nothing about a GPU"
                               : "they are checked, not timed (see --times)"));
      }
    } else {
      print("GPU    none: " + gpu.reason);
    }
    print("CPU    " + cpu_.model + ", " + std::to_string(cpu_.threads) + " threads");
    if (run_.quick) print("Timed  for a short look, with few samples; without --quick with more");
    print("Built  " + compiler_text() + "; " + BUILD_FLAGS);
  }

  // Kernels that the CPU runs, too: for charts and sweeps, which show nothing else.
  void time_every_place() { run_.time_model = true; }

  // Prints and keeps what was found. Throws after a CUDA error: no later result could be trusted.
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
  void add(const Sweep& sweep) {
    print_table(sweep);
    record(sweep);
  }
  // Keeps a sweep for the JSON, for a chapter that prints its numbers in a form of its own.
  void record(const Sweep& sweep) { sweeps_.push_back(sweep); }
  void add(const Timeline& timeline) {
    print_timeline(timeline);
    timelines_.push_back(timeline);
  }

  // A line on stderr that the next one replaces; only where a person watches.
  void progress(const std::string& text) const {
    static const bool is_terminal = isatty(STDERR_FILENO) != 0;
    if (is_terminal) std::fprintf(stderr, "\r\033[K%s", text.c_str());
  }

  const RunSettings& run_settings() const { return run_; }
  const DeviceFacts& device() const { return run_.device; }
  bool verify_only() const { return run_.verify_only; }
  std::uint64_t seed() const { return run_.seed; }

 private:
  // A ladder without the type of its problem.
  struct Entry {
    std::function<bool(Program&)> select;              // whether --only leaves something of it
    std::function<MemoryNeed(const Program&)> memory;  // of what is left
    std::function<void(Program&)> run;
    std::function<bool(Program&, const std::string&)> sweep;  // false: has no sweep of that name
  };
  struct Demo {
    std::string name, help;
    std::function<void(const Program&)> show;
  };

  template <class Problem>
  static Entry entry_of(std::shared_ptr<Ladder<Problem>> ladder) {
    using Variants = typename Ladder<Problem>::Variants;
    const auto selected = std::make_shared<Variants>();
    const auto settings = [ladder](const Program& program) {
      return Settings(ladder->settings, program.given_, !program.device().is_real_gpu());
    };
    Entry entry;
    entry.select = [ladder, selected](Program& program) {
      *selected = program.select(ladder->name, ladder->variants);
      return !selected->empty();
    };
    entry.memory = [ladder, settings](const Program& program) {
      return need_of(*ladder, settings(program), program.run_settings());
    };
    entry.run = [ladder, selected, settings](Program& program) {
      const Settings chosen = settings(program);
      if (ladder->before) ladder->before(program, chosen);
      const auto problem = ladder->make(chosen, program.run_settings());
      if (ladder->run_instead) return ladder->run_instead(program, *problem, *selected);
      ProblemReport report =
          run_problem(program.run_settings(), *problem, *selected, ladder->show_gflops);
      report.problem = ladder->name;
      if (report.error.empty() && ladder->derive) {
        ladder->derive(program.run_settings(), *problem, report.rows);
      }
      program.add(report);
      if (ladder->after) ladder->after(program, *problem, *selected, report);
    };
    entry.sweep = [ladder, selected, settings](Program& program, const std::string& name) {
      for (const auto& sweep : ladder->sweeps) {
        if (sweep.name != name) continue;
        if (sweep.points == Points::of_its_own && selected->size() < ladder->variants.size()) {
          throw UsageError("--sweep " + name + ": has rows of its own: leave --only out");
        }
        sweep.run(program, settings(program), *selected);
        return true;
      }
      return false;
    };
    return entry;
  }

  // An option for each setting; one that several ladders have is the same option.
  void add_settings(const std::vector<Setting>& settings) {
    for (const Setting& setting : settings) {
      if (options_.has(setting.name)) continue;
      const std::string name = setting.name;
      if (setting.words.empty()) {
        options_.add_value(name, "N", setting.help, [this, setting](const std::string& text) {
          given_[setting.name] = parse_integer(setting.name, text, setting.least, setting.most);
        });
      } else if (setting.words == std::vector<std::string>{""}) {
        options_.add_flag(name, setting.help, [this, name] { given_[name] = 1; });
      } else {
        options_.add_choice(name, setting.words, setting.help,
                            [this, name](int place) { given_[name] = place; });
      }
    }
  }

  void add_sweep_help(const std::string& name, const std::string& help) {
    for (auto& [known_name, known_help] : sweep_help_) {
      if (known_name == name) return;
    }
    sweep_help_.emplace_back(name, help);
  }

  int main_or_throw(int argc, char** argv, const std::function<void(Program&)>& body) {
    add_choices();
    options_.parse(argc, argv);
    if (help_) {
      std::printf("%s: %s\n\n", name_.c_str(), summary_.c_str());
      options_.print_help();
      return 0;
    }
    if (cold_ && warm_) throw UsageError("--cold and --warm exclude each other");
    if (run_.verify_only && (repeats_ > 0 || cold_ || warm_ || run_.time_model)) {
      throw UsageError("--verify times nothing: no --repeats, --times, --cold or --warm");
    }
    if (run_.quick && (run_.verify_only || run_.slow || repeats_ > 0)) {
      throw UsageError("--quick is a short look: no --verify, --slow or --repeats");
    }
    if (list_ && !json_file_.empty()) throw UsageError("--list writes no --json");
    if (!list_) require_writable("json", json_file_);
    for (int i = 1; i < argc; ++i) arguments_ += (i > 1 ? " " : "") + std::string(argv[i]);
    run_.cold = !warm_;
    run_.repeats = static_cast<int>(repeats_);
    run_.seed = static_cast<std::uint64_t>(seed_);
    run_.device = query_device();
    cpu_ = query_cpu();
    if (runs_on_model()) kept_counts_ = kept_counts_of(name_);
    body(*this);
    if (!list_ && !json_file_.empty()) write_file(json_file_, json_text());
    return failed_ ? 1 : 0;
  }

  // --sweep and --demo name what the ladders and the chapter have to offer.
  void add_choices() {
    const auto choices_of = [](const auto& offers, std::string* help) {
      std::vector<std::string> names;
      for (const auto& [name, text] : offers) {
        names.push_back(name);
        *help += (help->empty() ? "" : "; ") + text;
      }
      return names;
    };
    std::string help;
    std::vector<std::string> names = choices_of(sweep_help_, &help);
    if (!names.empty()) options_.add_choice("sweep", names, help, &sweep_);
    std::vector<std::pair<std::string, std::string>> demos;
    for (const Demo& demo : demos_) demos.emplace_back(demo.name, demo.help);
    help.clear();
    names = choices_of(demos, &help);
    if (!names.empty()) options_.add_choice("demo", names, help, &demo_);
  }

  // What the command line asks of the ladders.
  void run() {
    std::vector<const Entry*> selected;
    for (const Entry& entry : entries_) {
      if (entry.select(*this)) selected.push_back(&entry);
    }
    if (!selection_done()) return;
    if (!demo_.empty() + !sweep_.empty() + run_.verify_only > 1) {
      throw UsageError("--demo, --sweep and --verify exclude each other");
    }
    if (!demo_.empty()) return show_demo();
    if (!sweep_.empty()) return run_sweep(selected);
    for (const Entry* entry : selected) require_memory(entry->memory(*this));
    print_machine();
    for (const Entry* entry : selected) entry->run(*this);
    for (const auto& finish : at_end_) finish(*this);
    print_legend();
  }

  bool runs_on_model() const { return device().available && !device().is_real_gpu(); }

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

  // "make profile-01"
  std::string make_command(const std::string& goal) const {
    return "make " + goal + "-" + name_.substr(0, name_.find('_'));
  }

  // Below all tables: what their columns mean, and where the CPU ran kernels, who counts.
  void print_legend() const {
    if (!columns_shown_.empty()) std::printf("\n");
    for (const Column& column : columns_shown_) {
      std::printf("%-10s%s\n", column.title.c_str(), column.meaning.c_str());
    }
    if (runs_on_model() && !run_.verify_only) {
      std::printf("\nWhat kernels do to memory and warps is counted by: %s\n",
                  make_command("profile").c_str());
    }
  }

  void show_demo() const {
    if (!device().available) throw UsageError("--demo: needs a GPU: " + device().reason);
    for (const Demo& demo : demos_) {
      if (demo.name == demo_) demo.show(*this);
    }
  }

  void run_sweep(const std::vector<const Entry*>& selected) {
    if (!device().available) throw UsageError("--sweep: needs a GPU: " + device().reason);
    time_every_place();
    print_machine();
    bool found = false;
    for (const Entry* entry : selected) found = entry->sweep(*this, sweep_) || found;
    if (!found) throw UsageError("--sweep " + sweep_ + ": not of the problems that --only names");
    if (sweeps_.empty()) {
      throw UsageError("--sweep " + sweep_ + ": shows none of the variants that --only names");
    }
  }

  // --only: a variant, a problem, problem/variant, @tag or problem/@tag.
  static bool is_meant(const std::string& asked, const std::string& problem,
                       const std::string& variant, const std::vector<std::string>& tags) {
    if (asked == problem || asked == variant || asked == problem + "/" + variant) return true;
    return std::any_of(tags.begin(), tags.end(), [&](const std::string& tag) {
      return asked == "@" + tag || asked == problem + "/@" + tag;
    });
  }

  int complain(int status, const char* message) const {
    progress("");
    std::fflush(stdout);  // where both go to one place, what was found comes first
    std::fprintf(stderr, "%s: %s\n", name_.c_str(), message);
    return status;
  }

  static std::string known(double figure) { return figure > 0 ? short_number(figure) : "?"; }

  std::string json_text() const {
    JsonWriter json;
    json.begin_object();
    json.field("schema", 1);
    json.field("program", name_);
    json.field("arguments", arguments_);
    write_members(json, device());
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
    json.field("seed", seed_);
    json.field("mode", run_.cold ? "cold" : "warm");
    json.key("rows");
    json.begin_array();
    for (const ProblemReport& report : reports_) write_json(json, report);
    json.end_array();
    json.key("sweeps");
    json.begin_array();
    for (const Sweep& sweep : sweeps_) write_json(json, sweep);
    json.end_array();
    if (!timelines_.empty()) {
      json.key("timelines");
      json.begin_array();
      for (const Timeline& timeline : timelines_) write_json(json, timeline);
      json.end_array();
    }
    json.end_object();
    return json.text() + "\n";
  }

  std::string name_;
  std::string summary_;
  OptionParser options_;
  std::vector<Entry> entries_;
  std::vector<Demo> demos_;
  std::vector<std::pair<std::string, std::string>> sweep_help_;
  std::vector<std::function<void(Program&)>> at_end_;
  // Of the command line:
  bool list_ = false;
  bool help_ = false;
  bool cold_ = false, warm_ = false;  // what was said; run_.cold is what holds
  RunSettings run_;
  std::int64_t repeats_ = 0;
  std::int64_t seed_ = 1;
  Settings::Given given_;
  std::string sweep_, demo_;
  std::vector<std::string> only_;
  std::vector<std::string> found_;  // of only_
  std::string json_file_;
  std::string arguments_;
  // Of this run:
  CpuFacts cpu_;
  std::vector<ProblemReport> reports_;
  std::vector<Sweep> sweeps_;
  std::vector<Timeline> timelines_;
  KeptCounts kept_counts_;
  std::vector<Column> columns_shown_;  // of all tables, each once
  std::set<std::string> shown_titles_;
  bool failed_ = false;
};

template <class Problem>
AnyLadder::AnyLadder(Ladder<Problem> ladder)
    : add_to([ladder = std::move(ladder)](Program& program) { program.add(ladder); }) {}

// The harness, for those who hold a program.
template <class Problem>
ProblemReport run_problem(Program& program, Problem& problem,
                          const std::vector<Variant<Problem>>& variants, bool show_gflops = false) {
  if (variants.empty()) return {};
  const ProblemReport report = run_problem(program.run_settings(), problem, variants, show_gflops);
  program.add(report);
  return report;
}
template <class Problem>
std::vector<double> time_sweep(const Program& program, Problem& problem,
                               const std::vector<Variant<Problem>>& variants) {
  return time_sweep(program.run_settings(), problem, variants);
}

}  // namespace bench
