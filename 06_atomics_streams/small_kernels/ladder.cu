// The index of `small_kernels`: two ways to start many small kernels.
#include <cstdint>
#include <memory>
#include <vector>

#include "06_atomics_streams/small_kernels/01_launches.cuh"
#include "06_atomics_streams/small_kernels/02_graph.cuh"
#include "06_atomics_streams/small_kernels/problem.cuh"
#include "06_atomics_streams/study/sweep_kernels.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace small_kernels {

bench::Ladder<SmallKernels> ladder() {
  using bench::device_variant;
  // The graph is recorded by the first run, the untimed check, and replayed by the others.
  const auto graph = std::make_shared<std::unique_ptr<SmallKernelsGraph>>();
  bench::Ladder<SmallKernels> ladder;
  ladder.name = SmallKernels::name;
  ladder.variants = {
      device_variant<SmallKernels>(
          "launches", "one launch per kernel",
          [](SmallKernels& p, cudaStream_t stream) {
            small_kernels_launches(p.x.device_data(), SmallKernels::kElements, p.kernels, stream);
          }),
      device_variant<SmallKernels>("graph", "recorded once, one call for all of them",
                                   [graph](SmallKernels& p, cudaStream_t stream) {
                                     unsigned* x = p.x.device_data();
                                     if (!*graph || !(*graph)->is_for(x, p.kernels)) {
                                       *graph = std::make_unique<SmallKernelsGraph>(
                                           x, SmallKernels::kElements, p.kernels);
                                     }
                                     (*graph)->launch(stream);
                                   }),
  };
  ladder.settings = {
      bench::number("kernels", "small kernels in a row (default 1000)", 1000, 1, 1'000'000)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<SmallKernels>(static_cast<int>(settings["kernels"]), run.seed);
  };
  ladder.sweeps = {{"kernels", "kernels: graph by kernels", sweep_kernels}};
  return ladder;
}

}  // namespace small_kernels

namespace ladders {

bench::Ladders small_kernels() { return {small_kernels::ladder()}; }

}  // namespace ladders
