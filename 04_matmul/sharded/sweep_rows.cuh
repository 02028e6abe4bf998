// --sweep shared_rows: from how many rows of A on does it pay to overlap?
//
// Small products take as long as their launches and events, so calls stand in a CUDA graph, one
// behind the other, and its time is divided by their number. A kernel that waits for what another
// branch of a graph does must not stand in one, since nothing promises that both run at the same
// time: such calls follow one another in the streams.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "04_matmul/sharded/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/measure.hpp"
#include "common/bench/memory_need.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"
#include "common/kit/check.cuh"
#include "common/kit/gpu_timer.cuh"

namespace matmul::sharded {

// Many calls of a variant as one piece of work.
template <class Problem>
class RepeatedCalls {
 public:
  RepeatedCalls(Problem& problem, const bench::Variant<Problem>& variant, int calls, bool in_graph,
                cudaStream_t stream)
      : stream_(stream), calls_(calls) {
    ask_ = [&problem, &variant, calls, stream] {
      problem.with_team(stream, [&](const Team&, const auto&) {
        for (int i = 0; i < calls; ++i) variant.run(problem, stream);
      });
    };
    variant.run(problem, stream);  // makes what is made once
    CUDA_CHECK(cudaStreamSynchronize(stream));
    if (!in_graph) return;
    cudaGraph_t graph = nullptr;
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    ask_();
    CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    CUDA_CHECK(cudaGraphInstantiate(&graph_, graph, 0));
    CUDA_CHECK(cudaGraphDestroy(graph));
  }
  ~RepeatedCalls() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }
  RepeatedCalls(const RepeatedCalls&) = delete;
  RepeatedCalls& operator=(const RepeatedCalls&) = delete;

  // Milliseconds of one call.
  double sample_ms() {
    timer_.start(stream_);
    if (graph_ != nullptr) {
      CUDA_CHECK(cudaGraphLaunch(graph_, stream_));
    } else {
      ask_();
    }
    timer_.stop(stream_);
    return timer_.elapsed_ms() / calls_;
  }

 private:
  cudaStream_t stream_;
  int calls_;
  std::function<void()> ask_;
  cudaGraphExec_t graph_ = nullptr;
  kit::GpuTimer timer_;
};

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
  const int devices = team_size(settings["devices"]);
  bench::require_memory(Problem::memory({kMost, shape.n, shape.k}, devices), run.device);
  const bench::WorkStream stream(run.device);
  Problem smallest({devices, 64, 64 * devices}, devices, run.seed);
  bench::Sweep sweep{Problem::name, "shared_rows", {"m", "n", "k"}, {}};
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
    std::vector<std::unique_ptr<RepeatedCalls<Problem>>> calls;
    for (const auto& variant : compared) {
      run.progress("checking " + variant.name + " with " + std::to_string(shape.m) + " rows");
      const auto verdict = bench::verify(problem, variant, run.device, stream.get());
      if (verdict.status != bench::Status::right) {
        throw std::runtime_error(variant.name + ": " + verdict.reason);
      }
      const int repeats = shape.m <= 1024 ? 20 : shape.m <= 4096 ? 8 : 3;
      calls.push_back(std::make_unique<RepeatedCalls<Problem>>(
          problem, variant, repeats, !waits(problem, variant), stream.get()));
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
                                 static_cast<double>(shape.k)};
    for (const auto& of : samples) point.push_back(1e3 * bench::summarize(of).median_ms);
    sweep.points.push_back(point);
  }
  run.progress("");
  return {sweep};
}

}  // namespace matmul::sharded
