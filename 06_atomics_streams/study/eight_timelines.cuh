// The rungs of default_stream/ as a list, and what each of the eight streams did when.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "06_atomics_streams/default_stream/01_legacy.cuh"
#include "06_atomics_streams/default_stream/02_per_thread.cuh"
#include "06_atomics_streams/default_stream/03_non_blocking.cuh"
#include "06_atomics_streams/default_stream/kit/eight_streams.cuh"
#include "06_atomics_streams/default_stream/problem.cuh"
#include "06_atomics_streams/kit/observer.hpp"
#include "06_atomics_streams/study/trace.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/report.hpp"
#include "common/bench/timeline.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"

namespace default_stream {

using EightRung = void (*)(EightStreams&, unsigned*, int, cudaStream_t, atomics_streams::Observer*);

// A rung of this problem: what it calls, and the kind of streams it gets.
struct EightVariant {
  std::string name, idea;
  EightRung run;
  unsigned flags;
};

inline std::vector<EightVariant> eight_variants() {
  return {{"legacy", "the default stream waits for all, all wait for it", default_stream_legacy,
           cudaStreamDefault},
          {"per_thread", "a default stream like any other", default_stream_per_thread,
           cudaStreamDefault},
          {"non_blocking", "streams that ignore the legacy one", default_stream_non_blocking,
           cudaStreamNonBlocking}};
}

// One run of a rung, with the time of each of the eight kernels taken.
inline bench::Timeline trace_eight(DefaultStream& problem, const EightVariant& eight) {
  EightStreams streams(eight.flags);
  cudaStream_t caller = nullptr;
  CUDA_CHECK(cudaStreamCreateWithFlags(&caller, cudaStreamNonBlocking));
  bench::Timeline timeline;
  {
    atomics_streams::Trace trace;
    eight.run(streams, problem.y.device_data(), problem.rounds, caller, &trace);
    CUDA_CHECK(cudaDeviceSynchronize());
    std::vector<std::string> lanes;
    for (int s = 0; s < kEightStreams; ++s) lanes.push_back("stream " + std::to_string(s));
    timeline = trace.finish(DefaultStream::name, eight.name, lanes, {});
  }
  CUDA_CHECK(cudaStreamDestroy(caller));
  return timeline;
}

// The timelines of those rungs among `variants`, on a device that keeps time. Fits Ladder::after.
inline bench::Shown trace_variants(const bench::RunSettings& run, DefaultStream& problem,
                                   const std::vector<bench::Variant<DefaultStream>>& variants,
                                   const bench::ProblemReport&) {
  bench::Shown shown;
  if (run.verify_only || !run.device.is_real_gpu()) return shown;
  for (const EightVariant& eight : eight_variants()) {
    for (const auto& variant : variants) {
      if (variant.name == eight.name) shown.push_back(trace_eight(problem, eight));
    }
  }
  return shown;
}

}  // namespace default_stream
