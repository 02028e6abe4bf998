// How a rung is run and timed: on which host memory, by which clock; and the stages alone.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <functional>

#include "06_atomics_streams/pipeline/kit/batch.cuh"
#include "06_atomics_streams/pipeline/problem.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/cpu_timer.hpp"
#include "common/kit/gpu_timer.cuh"
#include "common/kit/host_buffer.hpp"
#include "common/kit/phase.hpp"

namespace pipeline {

using PipelineRun = std::function<kit::Phases(Batch&)>;

// Gives the batch the pinned copies to work on; they are filled before and emptied after the run,
// outside its time: a program that pins has its data there all along.
inline kit::Phases on_pinned(Pipeline& p, const PipelineRun& run) {
  Batch& batch = p.workspace();
  kit::copy_parallel(batch.pinned_in(), p.x.host_data(), p.n * sizeof(unsigned));
  kit::copy_parallel(batch.pinned_out(), p.y.host_data(), p.n * sizeof(unsigned));
  batch.use_host(batch.pinned_in(), batch.pinned_out());
  const kit::Phases phases = run(batch);
  kit::copy_parallel(p.y.host_data(), batch.pinned_out(), p.n * sizeof(unsigned));
  return phases;
}

inline kit::Phases on_pageable(Pipeline& p, const PipelineRun& run) {
  p.workspace().use_host(p.x.host_data(), p.y.host_data());
  return run(p.workspace());
}

// From the first call until the last stream is empty, by the clock of the host.
inline PipelineRun timed(void (*rung)(Batch&)) {
  return [rung](Batch& batch) -> kit::Phases {
    kit::CpuTimer timer;
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
  kit::GpuTimer timer;
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
inline bench::Variant<Pipeline> pipeline_ideal() {
  auto ideal = bench::round_trip_variant<Pipeline>(
      "ideal", "yardstick: the longest stage, each timed alone", [](Pipeline& p) {
        return on_pinned(p, [](Batch& batch) -> kit::Phases {
          return {{"longest stage alone", time_stages(batch).longest()}};
        });
      });
  ideal.kind = bench::Kind::ideal;
  return ideal;
}

}  // namespace pipeline
