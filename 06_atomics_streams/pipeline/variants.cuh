// The index of problem D1: every way to send a batch through the GPU, in reading order.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "06_atomics_streams/pipeline/01_one_stream.cuh"
#include "06_atomics_streams/pipeline/02_pageable_streams.cuh"
#include "06_atomics_streams/pipeline/03_pinned_streams.cuh"
#include "06_atomics_streams/pipeline/04_events.cuh"
#include "06_atomics_streams/pipeline/problem.cuh"
#include "common/cpu_timer.hpp"
#include "common/gpu_timer.cuh"
#include "common/variant.cuh"

using PipelineRun = std::function<common::Phases(Batch&)>;

// Gives the batch the pinned copies to work on; they are filled before and emptied after the run,
// outside its time: a program that pins has its data there all along.
inline common::Phases on_pinned(Pipeline& p, const PipelineRun& run) {
  Batch& batch = p.workspace();
  common::copy_parallel(batch.pinned_in(), p.x.on_host(), p.n * sizeof(unsigned));
  common::copy_parallel(batch.pinned_out(), p.y.on_host(), p.n * sizeof(unsigned));
  batch.use_host(batch.pinned_in(), batch.pinned_out());
  const common::Phases phases = run(batch);
  common::copy_parallel(p.y.on_host(), batch.pinned_out(), p.n * sizeof(unsigned));
  return phases;
}

inline common::Phases on_pageable(Pipeline& p, const PipelineRun& run) {
  p.workspace().use_host(p.x.on_host(), p.y.on_host());
  return run(p.workspace());
}

// From the first call until the last stream is empty, by the clock of the host.
inline PipelineRun timed(void (*rung)(Batch&)) {
  return [rung](Batch& batch) -> common::Phases {
    common::CpuTimer timer;
    rung(batch);
    batch.synchronize();
    return {{"in, kernel, out", timer.elapsed_ms()}};
  };
}

// Milliseconds of each stage alone: all chunks, one stream, pinned memory.
struct StageTimes {
  double copy_in = 0, kernel = 0, copy_out = 0;
  double longest() const { return std::max({copy_in, kernel, copy_out}); }
  double sum() const { return copy_in + kernel + copy_out; }
};

inline StageTimes time_stages(Batch& batch) {
  const cudaStream_t stream = batch.stream(0);
  common::GpuTimer timer;
  const auto time_stage = [&](void (Batch::*stage)(int, int, cudaStream_t)) {
    batch.synchronize();
    timer.start(stream);
    for (int c = 0; c < batch.chunks(); ++c) (batch.*stage)(c, c, stream);
    timer.stop(stream);
    return timer.elapsed_ms();
  };
  StageTimes times;
  times.copy_in = time_stage(&Batch::copy_in);
  times.kernel = time_stage(&Batch::compute);
  times.copy_out = time_stage(&Batch::copy_out);
  return times;
}

// Yardstick: the longest of the three stages. Were the other two hidden behind it, this would be
// all.
inline common::Variant<Pipeline> pipeline_ideal() {
  auto ideal = common::round_trip<Pipeline>(
      "ideal", "yardstick: the longest stage, each timed alone", [](Pipeline& p) {
        return on_pinned(p, [](Batch& batch) -> common::Phases {
          return {{"longest stage alone", time_stages(batch).longest()}};
        });
      });
  ideal.kind = common::Kind::yardstick;
  return ideal;
}

inline std::vector<common::Variant<Pipeline>> pipeline_variants() {
  using common::round_trip;
  return {
      round_trip<Pipeline>("one_stream", "one queue: the stages add up",
                           [](Pipeline& p) { return on_pinned(p, timed(pipeline_one_stream)); }),
      round_trip<Pipeline>(
          "pageable_streams", "four streams, ordinary memory: no overlap",
          [](Pipeline& p) { return on_pageable(p, timed(pipeline_pageable_streams)); }),
      round_trip<Pipeline>(
          "pinned_streams", "four streams, pinned memory",
          [](Pipeline& p) { return on_pinned(p, timed(pipeline_pinned_streams)); }),
      round_trip<Pipeline>("events", "a stream per stage, events between them",
                           [](Pipeline& p) { return on_pinned(p, timed(pipeline_events)); }),
      pipeline_ideal(),
  };
}
