// The index of `one_cell`: every way to sum into one cell, in reading order.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "06_atomics_streams/one_cell/01_sequential.hpp"
#include "06_atomics_streams/one_cell/02_racy.cuh"
#include "06_atomics_streams/one_cell/03_atomic_add.cuh"
#include "06_atomics_streams/one_cell/04_warp_aggregated.cuh"
#include "06_atomics_streams/one_cell/05_block_aggregated.cuh"
#include "06_atomics_streams/one_cell/06_per_thread.cuh"
#include "06_atomics_streams/one_cell/problem.cuh"
#include "06_atomics_streams/study/racy_report.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace one_cell {

bench::Ladder<OneCell> ladder() {
  bench::Ladder<OneCell> ladder;
  ladder.name = OneCell::name;
  ladder.variants = {
      bench::baseline<OneCell>(
          "sequential", "one core, one running total",
          [](OneCell& p) { *p.total.host_data() = one_cell_sequential(p.x.host_data(), p.n); }),
      one_cell_rung("atomic_add", "one atomic request per sample", one_cell_atomic_add),
      one_cell_rung("warp_aggregated", "a warp adds up, lane 0 asks", one_cell_warp_aggregated),
      one_cell_rung("block_aggregated", "a cell per block in shared memory",
                    one_cell_block_aggregated),
      one_cell_rung("per_thread", "registers first, then warp, block, cell", one_cell_per_thread),
  };
  ladder.settings = {bench::number(
      "n", "elements of every problem, of the lock at most 65536 (default: each its own)",
      10'000'000, 1'000'003, 1, 0xfffffffe)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<OneCell>(settings["n"], run.seed);
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return OneCell::memory(settings["n"]);
  };
  return ladder;
}

// Wrong on purpose, hence a ladder of its own: bench knows right, wrong and skipped, and this one
// is none of them. study/racy_report.cuh runs it and says how wrong it was.
bench::Ladder<OneCell> wrong_on_purpose() {
  bench::Ladder<OneCell> racy = ladder();
  racy.name = "wrong_on_purpose";
  racy.variants = {
      one_cell_rung("racy", "WRONG ON PURPOSE: + instead of atomicAdd", one_cell_racy)};
  racy.is_judged = false;
  racy.after = report_racy;
  return racy;
}

}  // namespace one_cell

namespace ladders {

bench::Ladders one_cell() { return {one_cell::wrong_on_purpose(), one_cell::ladder()}; }

}  // namespace ladders
