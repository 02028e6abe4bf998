// The index of `float_max`: every way to find the largest float, in reading order.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "06_atomics_streams/float_max/01_sequential.hpp"
#include "06_atomics_streams/float_max/02_compare_and_swap.cuh"
#include "06_atomics_streams/float_max/03_ordered_bits.cuh"
#include "06_atomics_streams/float_max/04_aggregated.cuh"
#include "06_atomics_streams/float_max/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace float_max {

bench::Ladder<FloatMax> ladder() {
  bench::Ladder<FloatMax> ladder;
  ladder.name = FloatMax::name;
  ladder.variants = {
      bench::baseline<FloatMax>(
          "sequential", "keep the largest so far",
          [](FloatMax& p) { *p.largest.host_data() = float_max_sequential(p.x.host_data(), p.n); }),
      float_max_rung("compare_and_swap", "look, compute, try, again", float_max_compare_and_swap),
      float_max_rung("ordered_bits", "integer max and min on the bits", float_max_ordered_bits),
      float_max_rung("aggregated", "registers and shuffles first", float_max_aggregated),
  };
  ladder.settings = {bench::number(
      "n", "elements of every problem, of the lock at most 65536 (default: each its own)",
      10'000'000, 1'000'003, 1, 0xfffffffe)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<FloatMax>(settings["n"], run.seed);
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return FloatMax::memory(settings["n"]);
  };
  return ladder;
}

}  // namespace float_max

namespace ladders {

bench::Ladders float_max() { return {float_max::ladder()}; }

}  // namespace ladders
