// The command line of a chapter's program: what it offers, what was asked, which variants are
// meant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/bench/ladder.cuh"
#include "common/bench/lines.hpp"
#include "common/bench/options.hpp"
#include "common/bench/output_file.hpp"
#include "common/bench/run_settings.hpp"
#include "common/bench/settings.hpp"

namespace bench {

// --demo NAME shows something instead of running the ladders.
struct Demo {
  std::string name, help;
  std::function<void()> show;
};

// All that a program consists of.
struct Chapter {
  std::string name;              // its folder
  std::string summary;           // one line, for --help
  std::vector<Ladders> ladders;  // in the order in which they run
  std::vector<Demo> demos = {};
};

// What the command line says; the device is asked later.
struct Asked {
  RunSettings run;
  Settings::Given settings;
  std::vector<std::string> only;
  std::string sweep, demo, json_file;
  std::string arguments;  // as they were typed
  bool list = false, help = false;
};

// An option for each setting; one that several ladders have is the same option, and shows the help
// of the first.
inline void add_settings(const std::vector<Setting>& settings, OptionParser& options,
                         Settings::Given& given) {
  for (const Setting& setting : settings) {
    const std::string name = setting.name;
    if (options.has(name)) continue;
    if (setting.words.empty()) {
      options.add_value(name, "N", setting.help, [setting, &given](const std::string& text) {
        given[setting.name] = parse_integer(setting.name, text, setting.least, setting.most);
      });
    } else if (setting.words == std::vector<std::string>{""}) {
      options.add_flag(name, setting.help, [name, &given] { given[name] = 1; });
    } else {
      options.add_choice(name, setting.words, setting.help, [setting, &given](int place) {
        const auto& values = setting.values;
        given[setting.name] = values.empty() ? place : values[place];
      });
    }
  }
}

// One of several things that have a name and a help, each name once; none: no such option.
using Offers = std::vector<std::pair<std::string, std::string>>;
inline void add_offers(const std::string& option, const Offers& offers, OptionParser& options,
                       std::string* target) {
  std::vector<std::string> names;
  std::string all_help;
  for (const auto& [name, help] : offers) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    names.push_back(name);
    all_help += (all_help.empty() ? "" : "; ") + help;
  }
  if (!names.empty()) options.add_choice(option, names, all_help, target);
}

// Parses it, or prints the help. Throws UsageError for what does not go together.
inline Asked parse_command_line(const Chapter& chapter, int argc, char** argv) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  Asked asked;
  RunSettings& run = asked.run;
  std::int64_t repeats = 0, seed = 1;
  bool cold = false, warm = false;
  OptionParser options;
  options.add_flag("list", "print the variants, one a line, and stop", [&] { asked.list = true; });
  options.add_value("only", "A,B", "run only these variants, problems or @tags",
                    [&](const std::string& text) { asked.only = split_commas(text); });
  options.add_flag("verify", "run and check each variant, time nothing",
                   [&] { run.verify_only = true; });
  options.add_flag("times", "time kernels that the CPU runs, too: no times of a GPU",
                   [&] { run.time_model = true; });
  options.add_flag("quick", "a short look: fewer samples, the slowest loops left out",
                   [&] { run.quick = true; });
  options.add_flag("slow", "run slow variants at any size", [&] { run.slow = true; });
  options.add_integer("repeats", "samples of each variant (default: until steady)", &repeats, 1,
                      1'000'000);
  options.add_integer("seed", "seed of the random input (default 1)", &seed, 0, kMost);
  options.add_flag("cold", "fill the L2 cache with other data before each sample (default)",
                   [&] { cold = true; });
  options.add_flag("warm", "leave in the L2 cache what the run before left there",
                   [&] { warm = true; });
  options.add_value("json", "FILE", "write the results there as well",
                    [&](const std::string& text) {
                      if (text.empty()) throw UsageError("--json needs a file's name");
                      asked.json_file = text;
                    });
  options.add_flag("help", "print this and stop", [&] { asked.help = true; });
  Offers sweeps, demos;
  for (const Ladders& ladders : chapter.ladders) {
    for (const AnyLadder& ladder : ladders) {
      add_settings(ladder.settings, options, asked.settings);
      for (const auto& sweep : ladder.sweeps) sweeps.emplace_back(sweep.name, sweep.help);
    }
  }
  for (const Demo& demo : chapter.demos) demos.emplace_back(demo.name, demo.help);
  add_offers("sweep", sweeps, options, &asked.sweep);
  add_offers("demo", demos, options, &asked.demo);

  options.parse(argc, argv);
  if (asked.help) {
    std::printf("%s\n\n", wrapped(chapter.name + ": " + chapter.summary, 0).c_str());
    std::printf("%s", options.help().c_str());
    Asked nothing_else;
    nothing_else.help = true;
    return nothing_else;
  }
  if (cold && warm) throw UsageError("--cold and --warm exclude each other");
  if (run.verify_only && (repeats > 0 || cold || warm || run.time_model)) {
    throw UsageError("--verify times nothing: no --repeats, --times, --cold or --warm");
  }
  if (run.quick && (run.verify_only || run.slow || repeats > 0)) {
    throw UsageError("--quick is a short look: no --verify, --slow or --repeats");
  }
  if (!asked.demo.empty() + !asked.sweep.empty() + run.verify_only > 1) {
    throw UsageError("--demo, --sweep and --verify exclude each other");
  }
  if (asked.list && !asked.json_file.empty()) throw UsageError("--list writes no --json");
  if (!asked.list) require_writable("json", asked.json_file);
  for (int i = 1; i < argc; ++i) asked.arguments += (i > 1 ? " " : "") + std::string(argv[i]);
  run.cold = !warm;
  run.repeats = static_cast<int>(repeats);
  run.seed = static_cast<std::uint64_t>(seed);
  return asked;
}

// A ladder of which --only leaves something.
struct Selected {
  const AnyLadder* ladder;
  AnyLadder::Chosen chosen;

  bool has_all() const { return std::count(chosen.begin(), chosen.end(), false) == 0; }
};

// --only: a variant, a problem, problem/variant, @tag or problem/@tag.
inline bool is_meant(const std::string& asked, const std::string& problem,
                     const AnyLadder::Line& variant) {
  if (asked == problem || asked == variant.name || asked == problem + "/" + variant.name) {
    return true;
  }
  return std::any_of(variant.tags.begin(), variant.tags.end(), [&](const std::string& tag) {
    return asked == "@" + tag || asked == problem + "/@" + tag;
  });
}

// Throws UsageError for a name that means nothing here.
inline std::vector<Selected> select(const Chapter& chapter, const std::vector<std::string>& only) {
  std::vector<Selected> selected;
  std::vector<bool> found(only.size(), false);
  std::vector<std::string> known;
  for (const Ladders& ladders : chapter.ladders) {
    for (const AnyLadder& ladder : ladders) {
      AnyLadder::Chosen chosen;
      known.push_back(ladder.name);
      for (const AnyLadder::Line& variant : ladder.variants) {
        known.insert(known.end(), {variant.name, ladder.name + "/" + variant.name});
        bool wanted = only.empty();
        for (std::size_t i = 0; i < only.size(); ++i) {
          if (!is_meant(only[i], ladder.name, variant)) continue;
          wanted = found[i] = true;
        }
        chosen.push_back(wanted);
      }
      if (std::count(chosen.begin(), chosen.end(), true) > 0) selected.push_back({&ladder, chosen});
    }
  }
  const auto unknown = std::find(found.begin(), found.end(), false);
  if (unknown != found.end()) {
    const std::string& name = only[unknown - found.begin()];
    throw UsageError("--only: no variant '" + name + "'" + did_you_mean(name, known) +
                     " (--list names them)");
  }
  return selected;
}

}  // namespace bench
