// --sweep blocks and --sweep copies: how many blocks does it take to fill the link, and how long
// does a copy of so many bytes take, by itself?
//
// What a stream of device 0 and events between devices cost is more than a small copy takes. So
// many copies stand in one CUDA graph, one after the other in the streams of their transfer.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "06_atomics_streams/device_copy/06_pull.cuh"
#include "06_atomics_streams/device_copy/07_push.cuh"
#include "06_atomics_streams/device_copy/08_tma.cuh"
#include "06_atomics_streams/device_copy/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/repeated_calls.cuh"
#include "common/bench/settings.hpp"
#include "common/bench/verify.cuh"
#include "common/kit/devices.cuh"

namespace device_copy {

// Milliseconds of one of the variant's runs, which are right: of `calls` in a graph, the median of
// some launches. Throws std::runtime_error if it is wrong.
template <int kWays>
double milliseconds_in_a_graph(const bench::RunSettings& run, DeviceCopy<kWays>& problem,
                               const bench::Variant<DeviceCopy<kWays>>& variant,
                               cudaStream_t stream) {
  run.progress("timing " + variant.name + " with " + std::to_string(problem.n) + " bytes");
  const auto verdict = bench::verify(problem, variant, run.device, stream);
  if (verdict.status != bench::Status::right) {
    throw std::runtime_error(variant.name + ": " + verdict.reason);
  }
  const int calls = problem.n <= 1 << 20 ? 50 : problem.n <= 1 << 24 ? 10 : 2;
  bench::RepeatedCalls repeated(calls, true, stream, [&] {
    bool is_first = true;
    problem.for_each_way(stream, [&](const Transfer&) {
      for (int i = 0; is_first && i < calls; ++i) variant.run(problem, stream);
      is_first = false;
    });
  });
  return repeated.median_ms(11);
}

// What a sweep shows instead on a machine with too few GPUs; empty if there are enough. Throws
// UsageError where no time is modelled.
inline bench::Shown shown_on_too_few(const bench::RunSettings& run,
                                     const bench::Settings& settings) {
  if (!run.device.is_real_gpu())
    throw bench::UsageError("the sweep needs GPUs: no time is modelled");
  const auto need = std::max(settings["from"], settings["to"]) + 1;
  if (kit::devices_here() >= need) return {};
  return {"skipped: needs " + std::to_string(need) + " GPUs, there is " +
          std::to_string(kit::devices_here()) + "\n"};
}

template <int kWays>
DeviceCopy<kWays> problem_of(const bench::RunSettings& run, const bench::Settings& settings,
                             std::int64_t n) {
  return {n, static_cast<int>(settings["from"]), static_cast<int>(settings["to"]), run.seed};
}

// GB/s each way, by the number of blocks.
template <int kWays>
bench::Shown sweep_blocks(const bench::RunSettings& run, const bench::Settings& settings,
                          const std::vector<bench::Variant<DeviceCopy<kWays>>>&) {
  if (const auto instead = shown_on_too_few(run, settings); !instead.empty()) return instead;
  const bench::WorkStream stream(run.device);
  auto problem = problem_of<kWays>(run, settings, settings["n"]);
  bench::Sweep sweep{
      DeviceCopy<kWays>::name, "blocks", {"blocks", "pull", "tma_pull", "push", "tma_push"}, {}};
  for (const int blocks : {1, 2, 4, 8, 12, 16, 24, 32, 64, 132}) {
    const auto gbps = [&](const char* name, auto rung) {
      const auto variant = transfer_rung<kWays>(name, "", rung);
      return 1e-6 * static_cast<double>(problem.n) /
             milliseconds_in_a_graph(run, problem, variant, stream.get());
    };
    sweep.points.push_back(
        {static_cast<double>(blocks),
         gbps("pull", [=](const Transfer& t) { device_copy_pull(t, blocks); }),
         gbps("tma_pull", [=](const Transfer& t) { device_copy_tma_by(t, t.target, blocks); }),
         gbps("push", [=](const Transfer& t) { device_copy_push(t, blocks); }),
         gbps("tma_push", [=](const Transfer& t) { device_copy_tma_by(t, t.source, blocks); })});
  }
  run.progress("");
  return {sweep};
}

// Microseconds up to 1 MB, and from there on GB/s each way, of all that copy between devices.
template <int kWays>
bench::Shown sweep_copies(const bench::RunSettings& run, const bench::Settings& settings,
                          const std::vector<bench::Variant<DeviceCopy<kWays>>>& variants) {
  if (const auto instead = shown_on_too_few(run, settings); !instead.empty()) return instead;
  const bench::WorkStream stream(run.device);
  bench::Sweep times{DeviceCopy<kWays>::name, "bytes_us", {"bytes"}, {}};
  bench::Sweep rates{DeviceCopy<kWays>::name, "bytes_gbps", {"bytes"}, {}};
  for (const auto& variant : variants) {
    if (variant.place != bench::Place::device) continue;
    for (bench::Sweep* sweep : {&times, &rates}) sweep->columns.push_back(variant.name);
  }
  constexpr std::int64_t kSmall = 1 << 20;
  for (std::int64_t bytes = 256; bytes <= settings["n"]; bytes *= 4) {
    auto problem = problem_of<kWays>(run, settings, bytes);
    std::vector<double> us = {static_cast<double>(bytes)}, gbps = us;
    for (const auto& variant : variants) {
      if (variant.place != bench::Place::device) continue;
      us.push_back(1e3 * milliseconds_in_a_graph(run, problem, variant, stream.get()));
      gbps.push_back(1e-3 * static_cast<double>(bytes) / us.back());
    }
    if (bytes <= kSmall) times.points.push_back(us);
    if (bytes >= kSmall) rates.points.push_back(gbps);
  }
  run.progress("");
  return {times, rates};
}

}  // namespace device_copy
