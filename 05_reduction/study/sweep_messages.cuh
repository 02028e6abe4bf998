// --sweep messages: how long does an all-reduce of so many bytes take, by itself?
//
// What a stream of device 0 and events between devices cost is more than a small message takes. So
// many calls stand in one CUDA graph, one after the other on each device.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "05_reduction/all_reduce/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/repeated_calls.cuh"
#include "common/bench/settings.hpp"
#include "common/bench/verify.cuh"

namespace all_reduce {

// Microseconds of the variants tagged "messages" that can run here, for 256 bytes, 1 KB, ... on
// each device, up to n elements. Each was right before it is timed.
template <class T>
bench::Shown sweep_messages(const bench::RunSettings& run, const bench::Settings& settings,
                            const std::vector<bench::Variant<AllReduce<T>>>& variants) {
  if (!run.device.is_real_gpu()) throw bench::UsageError("a sweep needs GPUs");
  const bench::WorkStream stream(run.device);
  const int devices = static_cast<int>(settings["devices"]);
  bench::Sweep sweep{AllReduce<T>::name, "messages", {"bytes", "devices"}, {}};
  std::vector<bench::Variant<AllReduce<T>>> compared;
  AllReduce<T> smallest(1, devices, 1);
  for (const auto& variant : variants) {
    if (std::find(variant.tags.begin(), variant.tags.end(), "messages") == variant.tags.end())
      continue;
    const auto verdict = bench::verify(smallest, variant, run.device, stream.get());
    if (verdict.status == bench::Status::skipped) continue;
    compared.push_back(variant);
    sweep.columns.push_back(variant.name);
  }
  if (compared.empty()) return {};
  const std::int64_t most = settings["n"] * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t bytes = 256; bytes <= most; bytes *= 4) {
    AllReduce<T> problem(bytes / sizeof(T), devices, run.seed);
    std::vector<double> point = {static_cast<double>(bytes), static_cast<double>(problem.size())};
    for (const auto& variant : compared) {
      run.progress("timing " + variant.name + " with " + std::to_string(bytes) + " bytes");
      const auto verdict = bench::verify(problem, variant, run.device, stream.get());
      if (verdict.status != bench::Status::right) {
        throw std::runtime_error(variant.name + ": " + verdict.reason);
      }
      const int calls = bytes <= 1 << 20 ? 50 : bytes <= 1 << 24 ? 10 : 2;
      bench::RepeatedCalls repeated(calls, true, stream.get(), [&] {
        problem.with_team(stream.get(), [&](const Team<T>&) {
          for (int i = 0; i < calls; ++i) variant.run(problem, stream.get());
        });
      });
      point.push_back(1e3 * repeated.median_ms(15));
    }
    sweep.points.push_back(point);
  }
  run.progress("");
  return {sweep};
}

}  // namespace all_reduce
