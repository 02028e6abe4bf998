// --sweep shared_rows: from how many rows of A on does it pay to overlap?
//
// Small products take as long as their launches and events, so calls stand in a CUDA graph, one
// after the other; those whose kernels wait for one another follow one another in the streams.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "04_matmul/sharded/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/measure.hpp"
#include "common/bench/memory_need.hpp"
#include "common/bench/repeated_calls.cuh"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"
#include "common/kit/devices.cuh"

namespace matmul::sharded {

// Whether a kernel of the variant's last run waits for another branch of its work.
template <class Problem>
bool waits(const Problem& problem, const bench::Variant<Problem>& variant) {
  const std::string rung = variant.chose ? variant.chose(problem) : variant.name;
  return rung == "flags" || rung == "to_owner";
}

// Microseconds of the variants that can run here but the loops, for 128, 256, ... rows of A; n and
// k are those that were given. Each was right before it is timed.
template <class Problem>
bench::Shown sweep_rows(const bench::RunSettings& run, const bench::Settings& settings,
                        const std::vector<bench::Variant<Problem>>& variants) {
  if (!run.device.is_real_gpu()) throw bench::UsageError("this sweep needs GPUs");
  if (settings.given("m")) throw bench::UsageError("--sweep shared_rows has rows of its own");
  constexpr std::int64_t kMost = 16384;
  Shape shape = shape_of(settings);
  const int devices = kit::team_size(settings["devices"]);
  bench::require_memory(Problem::memory({kMost, shape.n, shape.k}, devices), run.device);
  const bench::WorkStream stream(run.device);
  Problem smallest({devices, 64, 64 * devices}, devices, run.seed);
  bench::Sweep sweep{Problem::name, "shared_rows", {"m", "n", "k", "devices"}, {}};
  std::vector<bench::Variant<Problem>> compared;
  for (const auto& variant : variants) {
    if (variant.place != bench::Place::device) continue;
    const auto verdict = bench::verify(smallest, variant, run.device, stream.get());
    if (verdict.status == bench::Status::skipped) continue;
    compared.push_back(variant);
    sweep.columns.push_back(variant.name + "_us");
  }
  if (compared.empty()) return {};
  for (shape.m = 128; shape.m <= kMost; shape.m *= 2) {
    Problem problem(shape, devices, run.seed);
    std::vector<std::unique_ptr<bench::RepeatedCalls>> calls;
    for (const auto& variant : compared) {
      run.progress("checking " + variant.name + " with " + std::to_string(shape.m) + " rows");
      const auto verdict = bench::verify(problem, variant, run.device, stream.get());
      if (verdict.status != bench::Status::right) {
        throw std::runtime_error(variant.name + ": " + verdict.reason);
      }
      const int repeats = shape.m <= 1024 ? 20 : shape.m <= 4096 ? 8 : 3;
      calls.push_back(std::make_unique<bench::RepeatedCalls>(
          repeats, !waits(problem, variant), stream.get(), [&, repeats] {
            problem.with_team(stream.get(), [&](const Team&, const auto&) {
              for (int i = 0; i < repeats; ++i) variant.run(problem, stream.get());
            });
          }));
    }
    // In turns, so that all meet the same clocks; the first turn warms up.
    constexpr int kTurns = 15;
    std::vector<std::vector<double>> samples(compared.size());
    for (int turn = 0; turn <= kTurns; ++turn) {
      for (std::size_t i = 0; i < calls.size(); ++i) {
        const double ms = calls[i]->sample_ms();
        if (turn > 0) samples[i].push_back(ms);
      }
    }
    std::vector<double> point = {static_cast<double>(shape.m), static_cast<double>(shape.n),
                                 static_cast<double>(shape.k), static_cast<double>(devices)};
    for (const auto& of : samples) point.push_back(1e3 * bench::summarize(of).median_ms);
    sweep.points.push_back(point);
  }
  run.progress("");
  return {sweep};
}

}  // namespace matmul::sharded
