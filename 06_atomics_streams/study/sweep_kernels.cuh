// --sweep kernels: a chain of small kernels, launched one by one and as a graph.
#pragma once

#include <vector>

#include "06_atomics_streams/small_kernels/02_graph.cuh"
#include "06_atomics_streams/small_kernels/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/cpu_timer.hpp"

namespace small_kernels {

// From how many kernels on does a graph pay? Beside the two times stands what it
// costs to record and instantiate it.
inline bench::Shown sweep_kernels(const bench::RunSettings& run, const bench::Settings&,
                                  const std::vector<bench::Variant<SmallKernels>>& variants) {
  if (variants.size() != 2) throw bench::UsageError("--sweep kernels needs both variants");
  bench::Sweep sweep{
      SmallKernels::name, "kernels", {"kernels", "launches_ms", "graph_ms", "build_ms"}, {}};
  for (const int kernels : {1, 3, 10, 30, 100, 300, 1000}) {
    SmallKernels problem(kernels, run.seed);
    const std::vector<double> ms = bench::time_sweep(run, problem, variants);
    kit::CpuTimer timer;
    const SmallKernelsGraph graph(problem.x.device_data(), SmallKernels::kElements, kernels);
    sweep.points.push_back({static_cast<double>(kernels), ms[0], ms[1], timer.elapsed_ms()});
  }
  return {sweep};
}

}  // namespace small_kernels
