// Cycles per load, from the clock of the SM that ran the chain: without the launch, which the times
// in the table of variants contain.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "03_coalescing/latency/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/l2_flush.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"

namespace latency {

// Median over some launches, each with other data in L2, or kUnknown if the variant cannot run
// here.
inline double cycles_per_load(Latency& problem, const bench::Variant<Latency>& variant,
                              const bench::DeviceFacts& device, cudaStream_t stream) {
  constexpr int kLaunches = 21;
  const auto verdict = bench::verify(problem, variant, device, stream);
  if (verdict.status != bench::Status::right) return bench::kUnknown;
  bench::L2Flush flush(device);
  std::vector<std::uint64_t> cycles;
  for (int launch = 0; launch < kLaunches; ++launch) {
    std::uint64_t result[2];
    flush.enqueue(stream);
    variant.run(problem, stream);
    CUDA_CHECK(cudaMemcpyAsync(result, problem.result.device_data(), sizeof result,
                               cudaMemcpyDeviceToHost, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    cycles.push_back(result[1]);
  }
  std::nth_element(cycles.begin(), cycles.begin() + kLaunches / 2, cycles.end());
  return static_cast<double>(cycles[kLaunches / 2]) / Latency::kHops;
}

// Measures every level twice and reports both, so that a reader sees how far to trust the figures.
// Levels that cannot run here stay unknown; if none can, there is no table.
inline bench::Shown cycles_after(const bench::RunSettings& run, Latency& problem,
                                 const std::vector<bench::Variant<Latency>>& variants,
                                 const bench::ProblemReport&) {
  if (run.verify_only || !run.device.available) return {};
  const bench::WorkStream stream(run.device);
  bench::Sweep sweep{Latency::name, "run", {"run"}, {}};
  for (const auto& variant : variants) sweep.columns.push_back(variant.name + "_cycles");
  for (int time = 1; time <= 2; ++time) {
    std::vector<double> point{static_cast<double>(time)};
    for (const auto& variant : variants) {
      run.progress("counting cycles: " + variant.name);
      point.push_back(cycles_per_load(problem, variant, run.device, stream.get()));
    }
    if (std::all_of(point.begin() + 1, point.end(), [](double c) { return std::isnan(c); })) break;
    sweep.points.push_back(point);
  }
  run.progress("");
  return sweep.points.empty() ? bench::Shown{} : bench::Shown{sweep};
}

}  // namespace latency
