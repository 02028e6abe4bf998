// A ladder: all there is to know about one problem, as a value. A chapter's ladder.cuh makes it;
// programs, tests, exercises and tools read it.
//
//   namespace vector_add { inline bench::Ladder<VectorAdd> ladder(); }
//   program.add(vector_add::ladder());                    // a chapter's main
//   program.add(vector_add::ladder().with(my_variant));   // a reader's own kernel beside the rungs
//
// program.cuh turns a ladder's settings into options, selects by --only, lists, refuses what does
// not fit into memory, makes the problem, runs, prints and writes JSON.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/run_settings.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"

namespace bench {

class Program;

// Whose times a sweep shows: those of the ladder's variants, or of rows that it makes itself.
enum class Points { of_variants, of_its_own };

template <class Problem>
struct Ladder {
  using Variants = std::vector<Variant<Problem>>;

  // Its name chooses it (--sweep size). run() times something and adds it to the program, unless it
  // shows none of `variants`, which are those that --only left.
  struct NamedSweep {
    std::string name, help;
    std::function<void(Program&, const Settings&, const Variants&)> run;
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

  // Where a problem needs more than its rows: before the table (a roofline), in it (a column that
  // means something of its own), after it (a second table).
  std::function<void(Program&, const Settings&)> before = {};
  std::function<void(const RunSettings&, const Problem&, std::vector<Row>&)> derive = {};
  std::function<void(Program&, Problem&, const Variants&, const ProblemReport&)> after = {};
  // Instead of all this: for variants that are not to be judged.
  std::function<void(Program&, Problem&, const Variants&)> run_instead = {};

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

}  // namespace bench
