// What a program asks of a ladder, done for the type of its problem: the only way from main(),
// which knows no problem, to the harness and the rungs.
#pragma once

#include <cstddef>
#include <vector>

#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/time_variants.cuh"

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

template <class Problem>
std::vector<Variant<Problem>> chosen_of(const Ladder<Problem>& ladder,
                                        const AnyLadder::Chosen& chosen) {
  std::vector<Variant<Problem>> variants;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) variants.push_back(ladder.variants[i]);
  }
  return variants;
}

template <class Problem>
void run_ladder(const Ladder<Problem>& ladder, const RunSettings& run, const Settings& settings,
                const AnyLadder::Chosen& chosen, const AnyLadder::Show& show) {
  const auto problem = ladder.make(settings, run);
  const auto variants = chosen_of(ladder, chosen);
  ProblemReport report;
  if (ladder.is_judged) {
    report = run_problem(run, *problem, variants, ladder.show_gflops);
    report.problem = ladder.name;
    show({report});
  }
  if (ladder.after) show(ladder.after(run, *problem, variants, report));
}

template <class Problem>
AnyLadder::AnyLadder(const Ladder<Problem>& ladder)
    : name(ladder.name),
      settings(ladder.settings),
      memory([ladder](const Settings& settings, const RunSettings& run) {
        return need_of(ladder, settings, run);
      }),
      run([ladder](const RunSettings& run, const Settings& settings, const Chosen& chosen,
                   const Show& show) { run_ladder(ladder, run, settings, chosen, show); }),
      sweep([ladder](const RunSettings& run, const Settings& settings, const Chosen& chosen,
                     const std::string& name) {
        for (const auto& sweep : ladder.sweeps) {
          if (sweep.name == name) return sweep.run(run, settings, chosen_of(ladder, chosen));
        }
        return Shown{};
      }) {
  for (const auto& variant : ladder.variants) {
    variants.push_back({variant.name, variant.idea, variant.tags});
  }
  for (const auto& sweep : ladder.sweeps) sweeps.push_back({sweep.name, sweep.help, sweep.points});
}

}  // namespace bench
