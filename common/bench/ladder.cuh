// A ladder: all there is to know about one problem, as a value. A problem's ladder.cu makes it;
// programs, tests and tools read it.
//
//   namespace vector_add { bench::Ladder<VectorAdd> ladder(); }   // for those who know the problem
//   namespace ladders { bench::Ladders vector_add(); }            // for a program: ladders.cu
//
// A program turns a ladder's settings into options, selects by --only, lists, refuses what does not
// fit into memory, has it run (harness.cuh), prints and writes JSON.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/run_settings.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/timeline.hpp"
#include "common/bench/variant.cuh"

namespace bench {

// What a run has found, in the order in which it is to be shown. Text stands as it is.
using Shown = std::vector<std::variant<std::string, ProblemReport, Sweep, Timeline>>;

// Whose times a sweep shows: those of the ladder's variants, or of rows that it makes itself.
enum class Points { of_variants, of_its_own };

template <class Problem>
struct Ladder {
  using Variants = std::vector<Variant<Problem>>;

  // Its name chooses it (--sweep size). run() times something; it shows nothing if none of the
  // variants, which are those that --only left, is of use to it.
  struct NamedSweep {
    std::string name, help;
    std::function<Shown(const RunSettings&, const Settings&, const Variants&)> run;
    Points points = Points::of_variants;
  };

  std::string name;   // of the problem, as --only takes it
  Variants variants;  // in reading order: rungs, the chooser, peers, yardsticks
  std::vector<Setting> settings = {};
  // Makes the problem. The seed and the device are in the RunSettings.
  std::function<std::unique_ptr<Problem>(const Settings&, const RunSettings&)> make;
  // What it takes, known before anything is allocated.
  std::function<MemoryNeed(const Settings&, const RunSettings&)> memory;
  bool show_gflops = false;  // the rate in the table: GFLOP/s instead of GB/s
  std::vector<NamedSweep> sweeps = {};
  // Below the table: a second one, a sentence.
  std::function<Shown(const RunSettings&, Problem&, const Variants&, const ProblemReport&)> after =
      {};
  // Whether its variants are run and judged at all. Of what is wrong on purpose, `after` tells.
  bool is_judged = true;

  // The same ladder with one more variant at its end.
  Ladder with(Variant<Problem> mine) const {
    Ladder longer = *this;
    longer.variants.push_back(std::move(mine));
    return longer;
  }

  // The problem at the default sizes, or those given by name: make_problem({{"n", 1000}}).
  // Throws std::out_of_range for a name that is no setting.
  std::unique_ptr<Problem> make_problem(const Settings::Given& given = {},
                                        const RunSettings& run = {}) const {
    const Settings chosen(settings, given, !run.device.is_real_gpu());
    for (const auto& [name, value] : given) (void)chosen[name];
    return make(chosen, run);
  }
};

// A ladder without the type of its problem: main() of ladders.cu sees no header of a problem.
struct AnyLadder {
  struct Line {
    std::string name, idea;
    std::vector<std::string> tags;
  };
  struct NamedSweep {
    std::string name, help;
    Points points;
  };
  using Chosen = std::vector<bool>;  // which of the variants
  using Show = std::function<void(const Shown&)>;

  AnyLadder() = default;
  template <class Problem>
  AnyLadder(const Ladder<Problem>& ladder);  // in harness.cuh

  std::string name;
  std::vector<Line> variants;
  std::vector<Setting> settings;
  std::vector<NamedSweep> sweeps;
  std::function<MemoryNeed(const Settings&, const RunSettings&)> memory;
  // Shows the table as soon as it is there, and then what comes after it.
  std::function<void(const RunSettings&, const Settings&, const Chosen&, const Show&)> run;
  std::function<Shown(const RunSettings&, const Settings&, const Chosen&, const std::string&)>
      sweep;
};
using Ladders = std::vector<AnyLadder>;

}  // namespace bench
