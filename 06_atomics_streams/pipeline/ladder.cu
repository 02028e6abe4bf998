// The index of `pipeline`: every way to send a batch through the GPU, in reading order.
#include <memory>
#include <vector>

#include "06_atomics_streams/pipeline/01_one_stream.cuh"
#include "06_atomics_streams/pipeline/02_pageable_streams.cuh"
#include "06_atomics_streams/pipeline/03_pinned_streams.cuh"
#include "06_atomics_streams/pipeline/04_events.cuh"
#include "06_atomics_streams/pipeline/problem.cuh"
#include "06_atomics_streams/pipeline/runs.cuh"
#include "06_atomics_streams/study/overlap.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace pipeline {

bench::Ladder<Pipeline> ladder() {
  using bench::round_trip_variant;
  bench::Ladder<Pipeline> ladder;
  ladder.name = Pipeline::name;
  ladder.variants = {
      round_trip_variant<Pipeline>(
          "one_stream", "one queue: the stages add up",
          [](Pipeline& p) { return on_pinned(p, timed(pipeline_one_stream)); }),
      round_trip_variant<Pipeline>(
          "pageable_streams", "four streams, ordinary memory: no overlap",
          [](Pipeline& p) { return on_pageable(p, timed(pipeline_pageable_streams)); }),
      round_trip_variant<Pipeline>(
          "pinned_streams", "four streams, pinned memory",
          [](Pipeline& p) { return on_pinned(p, timed(pipeline_pinned_streams)); }),
      round_trip_variant<Pipeline>(
          "events", "a stream per stage, events between them",
          [](Pipeline& p) { return on_pinned(p, timed(pipeline_events)); }),
      pipeline_ideal(),
  };
  ladder.settings = {
      bench::number("n",
                    "elements of every problem, of the lock at most 65536 (default: each its own)",
                    1 << 25, 1 << 19, 1, 0xfffffffe),
      bench::number("chunks", "pieces of the pipeline's batch (default 32)", 32, 1, 1000),
      bench::number("rounds", "computing per element of the pipeline", 384, 32, 1, 100'000)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Pipeline>(settings["n"], static_cast<int>(settings["chunks"]),
                                      static_cast<int>(settings["rounds"]), run.seed);
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return Pipeline::memory(settings["n"]);
  };
  ladder.after = show_overlap;
  ladder.sweeps = {
      {"streams", "streams: pipeline by streams", sweep_streams, bench::Points::of_its_own}};
  return ladder;
}

}  // namespace pipeline

namespace ladders {

bench::Ladders pipeline() { return {pipeline::ladder()}; }

}  // namespace ladders
