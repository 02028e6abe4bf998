// The program of a chapter: what the command line asks of its ladders, and the exit status.
//
//   int main(int argc, char** argv) {
//     return bench::run({"01_vector_add", "y = x + y", {ladders::vector_add()}}, argc, argv);
//   }
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "common/bench/command_line.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/options.hpp"
#include "common/bench/output.hpp"
#include "common/bench/output_file.hpp"
#include "common/bench/settings.hpp"
#include "common/kit/cpu_timer.hpp"

namespace bench {

// A line on stderr that the next one replaces; only where a person watches.
inline void print_progress(const std::string& text) {
  static const bool is_seen = isatty(STDERR_FILENO) != 0 && takes_escapes(std::getenv("TERM"));
  if (is_seen) std::fprintf(stderr, "\r\033[K%s", text.c_str());
}

inline void list(const std::vector<Selected>& selected) {
  for (const auto& [ladder, chosen] : selected) {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (!chosen[i]) continue;
      const std::string full_name = ladder->name + "/" + ladder->variants[i].name;
      std::printf("%-32s %s\n", full_name.c_str(), ladder->variants[i].idea.c_str());
    }
  }
}

inline void show_demo(const Chapter& chapter, const Asked& asked) {
  const DeviceFacts& device = asked.run.device;
  if (!device.available) throw UsageError("--demo: needs a GPU: " + device.reason);
  for (const Demo& demo : chapter.demos) {
    if (demo.name == asked.demo) demo.show();
  }
}

// Kernels that the CPU runs are timed, too: a sweep shows nothing else.
inline void run_sweep(const std::vector<Selected>& selected, Asked& asked, Output& output) {
  const std::string option = "--sweep " + asked.sweep;
  const DeviceFacts& device = asked.run.device;
  if (!device.available) throw UsageError("--sweep: needs a GPU: " + device.reason);
  asked.run.time_model = true;
  output.print_machine();
  bool is_known = false, has_shown = false;
  for (const Selected& one : selected) {
    for (const auto& sweep : one.ladder->sweeps) {
      if (sweep.name != asked.sweep) continue;
      if (sweep.points == Points::of_its_own && !one.has_all()) {
        throw UsageError(option + ": has rows of its own: leave --only out");
      }
      const Settings settings(one.ladder->settings, asked.settings, !device.is_real_gpu());
      const Shown shown = one.ladder->sweep(asked.run, settings, one.chosen, asked.sweep);
      output.show(shown);
      is_known = true;
      has_shown = has_shown || !shown.empty();
    }
  }
  if (!is_known) throw UsageError(option + ": not of the problems that --only names");
  if (!has_shown) throw UsageError(option + ": shows none of the variants that --only names");
}

inline void run_ladders(const std::vector<Selected>& selected, const Asked& asked, Output& output) {
  const bool kernels_on_cpu = !asked.run.device.is_real_gpu();
  const auto settings_of = [&](const Selected& one) {
    return Settings(one.ladder->settings, asked.settings, kernels_on_cpu);
  };
  for (const Selected& one : selected) {
    require_memory(one.ladder->memory(settings_of(one), asked.run), asked.run.device);
  }
  output.print_machine();
  for (const Selected& one : selected) {
    one.ladder->run(asked.run, settings_of(one), one.chosen,
                    [&output](const Shown& shown) { output.show(shown); });
  }
  output.print_legend();
}

// Refuses more threads than can start.
inline void require_threads() {
  try {
    kit::openmp_threads();
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
}

// Parses the command line, runs what it asks for, prints and writes the report. Exit status: 0 if
// every variant that ran was right, 1 after a wrong result or a CUDA error, 2 after a mistake in
// the command line.
inline int run(const Chapter& chapter, int argc, char** argv) {
  const auto complain = [&chapter](int status, const char* message) {
    print_progress("");
    std::fflush(stdout);  // where both go to one place, what was found comes first
    std::fprintf(stderr, "%s: %s\n", chapter.name.c_str(), message);
    return status;
  };
  int status = 0;
  try {
    Asked asked = parse_command_line(chapter, argc, argv);
    const std::vector<Selected> selected = select(chapter, asked.only);
    if (asked.list) {
      list(selected);
    } else if (!asked.help) {
      require_threads();
      asked.run.device = query_device();
      asked.run.progress = print_progress;
      Output output(chapter, asked);
      if (!asked.demo.empty()) {
        show_demo(chapter, asked);
      } else if (!asked.sweep.empty()) {
        run_sweep(selected, asked, output);
      } else {
        run_ladders(selected, asked, output);
      }
      if (!asked.json_file.empty()) write_file(asked.json_file, output.json_text());
      if (output.failed()) status = 1;
    }
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

}  // namespace bench
