// Runs the rungs of `pipeline`, compares each with the ideal and draws what overlapped.
#pragma once

#include <string>
#include <vector>

#include "06_atomics_streams/pipeline/03_pinned_streams.cuh"
#include "06_atomics_streams/pipeline/kit/batch.cuh"
#include "06_atomics_streams/pipeline/problem.cuh"
#include "06_atomics_streams/pipeline/runs.cuh"
#include "06_atomics_streams/study/trace.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/lines.hpp"
#include "common/bench/report.hpp"
#include "common/bench/run_settings.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/timeline.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/cpu_timer.hpp"
#include "common/kit/phase.hpp"

namespace pipeline {

// The stages of one run of `rung`, as the events on its streams saw them.
inline bench::Timeline trace_rung(Pipeline& problem, const bench::Variant<Pipeline>& rung) {
  Batch& batch = problem.workspace();
  batch.synchronize();
  atomics_streams::Trace trace;
  batch.set_observer(&trace);
  rung.run(problem, nullptr);
  batch.set_observer(nullptr);
  return trace.finish(Pipeline::name, rung.name, {"copy in", "kernel", "copy out"},
                      {"copy in", "copy out"});
}

// After the table, on a device that keeps time: each stage alone, and each rung traced once. Fits
// Ladder::after.
inline bench::Shown show_overlap(const bench::RunSettings& run, Pipeline& problem,
                                 const std::vector<bench::Variant<Pipeline>>& variants,
                                 const bench::ProblemReport& report) {
  if (run.verify_only) return {};
  if (!run.device.is_real_gpu()) return {"Overlap is not shown: this device models no time.\n"};
  StageTimes alone;
  on_pinned(problem, [&alone](Batch& batch) -> kit::Phases {
    alone = time_stages(batch);
    return {};
  });
  bench::Shown shown = {
      bench::Sweep{Pipeline::name,
                   "stage",
                   {"copy_in_ms", "kernel_ms", "copy_out_ms", "sum_ms", "ideal_ms"},
                   {{alone.copy_in, alone.kernel, alone.copy_out, alone.sum(), alone.longest()}}}};
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const bench::Row& row = report.rows[i];
    if (row.verdict.status != bench::Status::right || row.name == "ideal") continue;
    shown.push_back(trace_rung(problem, variants[i]));
    shown.push_back(bench::formatted("  timed without the events: %.3f ms, %.2f of the ideal\n",
                                     row.timing.median_ms, row.ratio_to_peer));
  }
  return shown;
}

// --sweep streams: how many streams does it take?
inline bench::Shown sweep_streams(const bench::RunSettings& run, const bench::Settings& settings,
                                  const std::vector<bench::Variant<Pipeline>>&) {
  if (!run.device.is_real_gpu()) {
    throw bench::UsageError("--sweep streams: needs a GPU, this device models no time");
  }
  Pipeline problem(settings["n"], static_cast<int>(settings["chunks"]),
                   static_cast<int>(settings["rounds"]), run.seed);
  std::vector<bench::Variant<Pipeline>> variants = {pipeline_ideal()};
  for (int streams = 1; streams <= kMostStreams; ++streams) {
    variants.push_back(bench::round_trip_variant<Pipeline>(
        std::to_string(streams) + " streams", "", [streams](Pipeline& p) {
          return on_pinned(p, [streams](Batch& batch) -> kit::Phases {
            kit::CpuTimer timer;
            pipeline_in_streams(batch, streams);
            batch.synchronize();
            return {{"in, kernel, out", timer.elapsed_ms()}};
          });
        }));
  }
  const std::vector<double> ms = bench::time_sweep(run, problem, variants);
  bench::Sweep sweep{Pipeline::name, "streams", {"streams", "median_ms", "ideal_over_time"}, {}};
  for (int streams = 1; streams <= kMostStreams; ++streams) {
    sweep.points.push_back({static_cast<double>(streams), ms[streams], ms[0] / ms[streams]});
  }
  return {sweep};
}

}  // namespace pipeline
