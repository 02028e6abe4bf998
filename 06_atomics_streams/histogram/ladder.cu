// The index of `histogram`: every way to count bytes, in reading order.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "06_atomics_streams/histogram/01_sequential.hpp"
#include "06_atomics_streams/histogram/02_openmp.hpp"
#include "06_atomics_streams/histogram/03_global_atomics.cuh"
#include "06_atomics_streams/histogram/04_shared_private.cuh"
#include "06_atomics_streams/histogram/05_vectorized.cuh"
#include "06_atomics_streams/histogram/06_lane_columns.cuh"
#include "06_atomics_streams/histogram/07_runs.cuh"
#include "06_atomics_streams/histogram/08_prefetch.cuh"
#include "06_atomics_streams/histogram/peers.cuh"
#include "06_atomics_streams/histogram/problem.cuh"
#include "06_atomics_streams/study/sweep_bins.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace histogram {

bench::Ladder<Histogram> ladder() {
  bench::Ladder<Histogram> ladder;
  ladder.name = Histogram::name;
  ladder.variants = {
      bench::baseline<Histogram>(
          "sequential", "read a byte, count it",
          [](Histogram& p) { histogram_sequential(p.x.host_data(), p.n, p.counts.host_data()); }),
      bench::cpu_variant<Histogram>(
          "openmp", "all cores, private counters",
          [](Histogram& p) { histogram_openmp(p.x.host_data(), p.n, p.counts.host_data()); }),
      histogram_rung("global_atomics", "one atomic per byte, one set of counters",
                     histogram_global_atomics),
      histogram_rung("shared_private", "counters per block in shared memory",
                     histogram_shared_private),
      histogram_rung("vectorized", "16 bytes per load", histogram_vectorized),
      histogram_rung("lane_columns", "counters per lane: no bank conflict", histogram_lane_columns),
      histogram_rung("runs", "16 equal bytes in one request", histogram_runs),
      histogram_rung("prefetch", "next pieces asked for before these are counted",
                     histogram_prefetch),
      histogram_peer(),
      histogram_read_only(),
  };
  ladder.settings = {
      bench::number("n",
                    "elements of every problem, of the lock at most 65536 (default: each its own)",
                    1 << 26, 1'000'003, 1, 0xfffffffe),
      bench::choice("input", "bytes of the histogram (default uniform)",
                    {"uniform", "skewed", "constant"})};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Histogram>(settings["n"], run.seed,
                                       static_cast<HistogramInput>(settings["input"]));
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return Histogram::memory(settings["n"]);
  };
  ladder.sweeps = {{"bins", "bins: histogram by distinct values", sweep_bins}};
  return ladder;
}

}  // namespace histogram

namespace ladders {

bench::Ladders histogram() { return {histogram::ladder()}; }

}  // namespace ladders
