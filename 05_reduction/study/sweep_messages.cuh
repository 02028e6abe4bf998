// --sweep messages: how long does an all-reduce of so many bytes take, by itself?
//
// What a stream of device 0 and events between devices cost is more than a small message takes. So
// many calls stand in one CUDA graph, one behind the other on each device, and the graph's time is
// divided by their number.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "05_reduction/all_reduce/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/measure.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/verify.cuh"
#include "common/kit/check.cuh"
#include "common/kit/gpu_timer.cuh"

namespace all_reduce {

// `calls` of the variant in a graph.
template <class T>
class RepeatedCalls {
 public:
  RepeatedCalls(AllReduce<T>& problem, const bench::Variant<AllReduce<T>>& variant, int calls,
                cudaStream_t stream)
      : stream_(stream), calls_(calls) {
    variant.run(problem, stream);  // makes what is made once
    CUDA_CHECK(cudaStreamSynchronize(stream));
    cudaGraph_t graph = nullptr;
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    problem.with_team(stream, [&](const Team<T>&) {
      for (int i = 0; i < calls; ++i) variant.run(problem, stream);
    });
    CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    CUDA_CHECK(cudaGraphInstantiate(&graph_, graph, 0));
    CUDA_CHECK(cudaGraphDestroy(graph));
  }
  ~RepeatedCalls() { cudaGraphExecDestroy(graph_); }
  RepeatedCalls(const RepeatedCalls&) = delete;
  RepeatedCalls& operator=(const RepeatedCalls&) = delete;

  // Milliseconds of one call: the median of so many launches, after one that warms up.
  double median_ms(int launches) {
    std::vector<double> samples;
    for (int i = 0; i <= launches; ++i) {
      timer_.start(stream_);
      CUDA_CHECK(cudaGraphLaunch(graph_, stream_));
      timer_.stop(stream_);
      const double ms = timer_.elapsed_ms();
      if (i > 0) samples.push_back(ms / calls_);
    }
    return bench::summarize(samples).median_ms;
  }

 private:
  cudaStream_t stream_;
  int calls_;
  cudaGraphExec_t graph_ = nullptr;
  kit::GpuTimer timer_;
};

// Microseconds of the variants tagged "messages" that can run here, for 256 bytes, 1 KB, ... on
// each device, up to n elements. Each was right before it is timed.
template <class T>
bench::Shown sweep_messages(const bench::RunSettings& run, const bench::Settings& settings,
                            const std::vector<bench::Variant<AllReduce<T>>>& variants) {
  if (!run.device.is_real_gpu()) throw bench::UsageError("a sweep needs GPUs");
  const bench::WorkStream stream(run.device);
  const int devices = static_cast<int>(settings["devices"]);
  bench::Sweep sweep{AllReduce<T>::name, "messages", {"bytes"}, {}};
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
    std::vector<double> point = {static_cast<double>(bytes)};
    for (const auto& variant : compared) {
      run.progress("timing " + variant.name + " with " + std::to_string(bytes) + " bytes");
      const auto verdict = bench::verify(problem, variant, run.device, stream.get());
      if (verdict.status != bench::Status::right) {
        throw std::runtime_error(variant.name + ": " + verdict.reason);
      }
      const int calls = bytes <= 1 << 20 ? 50 : bytes <= 1 << 24 ? 10 : 2;
      RepeatedCalls<T> repeated(problem, variant, calls, stream.get());
      point.push_back(1e3 * repeated.median_ms(15));
    }
    sweep.points.push_back(point);
  }
  run.progress("");
  return {sweep};
}

}  // namespace all_reduce
