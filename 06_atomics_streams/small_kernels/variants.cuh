// The index of problem D3: two ways to start many small kernels.
#pragma once

#include <memory>
#include <vector>

#include "06_atomics_streams/small_kernels/01_launches.cuh"
#include "06_atomics_streams/small_kernels/02_graph.cuh"
#include "06_atomics_streams/small_kernels/problem.cuh"
#include "common/cpu_timer.hpp"
#include "common/harness.cuh"
#include "common/program.cuh"
#include "common/variant.cuh"

inline std::vector<common::Variant<SmallKernels>> small_kernels_variants() {
  using common::on_device;
  // The graph is recorded by the first run, the untimed check, and replayed by the others.
  const auto graph = std::make_shared<std::unique_ptr<SmallKernelsGraph>>();
  return {
      on_device<SmallKernels>("launches", "one launch per kernel",
                              [](SmallKernels& p, cudaStream_t stream) {
                                small_kernels_launches(p.x.on_device(), SmallKernels::kElements,
                                                       p.kernels, stream);
                              }),
      on_device<SmallKernels>("graph", "recorded once, one call for all of them",
                              [graph](SmallKernels& p, cudaStream_t stream) {
                                unsigned* x = p.x.on_device();
                                if (!*graph || !(*graph)->is_for(x, p.kernels)) {
                                  *graph = std::make_unique<SmallKernelsGraph>(
                                      x, SmallKernels::kElements, p.kernels);
                                }
                                (*graph)->launch(stream);
                              }),
  };
}

// --sweep kernels: from how many kernels on does a graph pay? Beside the two times stands what it
// costs to record and instantiate it.
inline void sweep_kernels(common::Program& program) {
  common::Sweep sweep{
      SmallKernels::name, "kernels", {"kernels", "launches_ms", "graph_ms", "build_ms"}, {}};
  for (const int kernels : {1, 3, 10, 30, 100, 300, 1000}) {
    SmallKernels problem(kernels, program.seed());
    const std::vector<double> ms = common::time_sweep(program, problem, small_kernels_variants());
    common::CpuTimer timer;
    const SmallKernelsGraph graph(problem.x.on_device(), SmallKernels::kElements, kernels);
    sweep.points.push_back({static_cast<double>(kernels), ms[0], ms[1], timer.elapsed_ms()});
  }
  program.add(sweep);
}
