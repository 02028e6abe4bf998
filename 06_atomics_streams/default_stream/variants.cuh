// The index of problem D2: which default stream, and what it holds up, in reading order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "06_atomics_streams/default_stream/01_legacy.cuh"
#include "06_atomics_streams/default_stream/02_per_thread.cuh"
#include "06_atomics_streams/default_stream/03_non_blocking.cuh"
#include "06_atomics_streams/default_stream/problem.cuh"
#include "06_atomics_streams/timeline.hpp"
#include "common/variant.cuh"

using EightRung = void (*)(EightStreams&, unsigned*, int, cudaStream_t, Trace*);

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

// Yardstick: one of the eight kernels, alone. Eight times this is no overlap, once is a full one.
inline common::Variant<DefaultStream> default_stream_one_kernel() {
  auto one = common::on_device<DefaultStream>(
      "one_kernel", "yardstick: one of the eight, alone",
      [](DefaultStream& p, cudaStream_t stream) {
        default_stream_spin_kernel<<<1, kWidth, 0, stream>>>(p.y.on_device(), 0, p.rounds);
        CUDA_CHECK(cudaGetLastError());
      });
  one.kind = common::Kind::yardstick;
  one.check = [](const DefaultStream& p) {
    return common::compare(p.y.fetched(), p.expected.data(), kWidth, 0.0);
  };
  return one;
}

inline std::vector<common::Variant<DefaultStream>> default_stream_variants() {
  std::vector<common::Variant<DefaultStream>> variants;
  for (const EightVariant& eight : eight_variants()) {
    const auto streams = std::make_shared<std::unique_ptr<EightStreams>>();  // made at first use
    variants.push_back(common::on_device<DefaultStream>(
        eight.name, eight.idea, [eight, streams](DefaultStream& p, cudaStream_t stream) {
          if (!*streams) *streams = std::make_unique<EightStreams>(eight.flags);
          eight.run(**streams, p.y.on_device(), p.rounds, stream, nullptr);
        }));
  }
  variants.push_back(default_stream_one_kernel());
  return variants;
}

// One run of a rung, with the time of each of the eight kernels taken.
inline Timeline trace_eight(DefaultStream& problem, const EightVariant& eight) {
  EightStreams streams(eight.flags);
  cudaStream_t caller = nullptr;
  CUDA_CHECK(cudaStreamCreateWithFlags(&caller, cudaStreamNonBlocking));
  Timeline timeline;
  {
    Trace trace;
    eight.run(streams, problem.y.on_device(), problem.rounds, caller, &trace);
    CUDA_CHECK(cudaDeviceSynchronize());
    std::vector<std::string> lanes;
    for (int s = 0; s < kEightStreams; ++s) lanes.push_back("stream " + std::to_string(s));
    timeline = trace.finish(eight.name, lanes, {});
  }
  CUDA_CHECK(cudaStreamDestroy(caller));
  return timeline;
}
