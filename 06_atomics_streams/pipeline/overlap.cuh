// Runs the rungs of problem D1, compares each with the ideal and draws what overlapped.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "06_atomics_streams/pipeline/variants.cuh"
#include "06_atomics_streams/timeline.hpp"
#include "06_atomics_streams/trace.cuh"
#include "common/harness.cuh"
#include "common/program.cuh"

// The stages of one run of `rung`, as the events on its streams saw them.
inline Timeline trace_rung(Pipeline& problem, const common::Variant<Pipeline>& rung) {
  Batch& batch = problem.workspace();
  batch.synchronize();
  Trace trace;
  batch.set_trace(&trace);
  rung.run(problem, nullptr);
  batch.set_trace(nullptr);
  return trace.finish(rung.name, {"copy in", "kernel", "copy out"}, {"copy in", "copy out"});
}

// Like common::run_problem, but the column "x peer" holds ideal / median: 1 is perfect overlap. The
// figures of the overlap are shown only on a device that keeps time; then each rung is also traced
// once and its timeline appended to `timelines`.
inline void run_pipeline(common::Program& program, Pipeline& problem,
                         const std::vector<common::Variant<Pipeline>>& variants,
                         std::vector<Timeline>& timelines) {
  if (variants.empty()) return;
  const common::WorkStream stream(program.device());
  common::ProblemReport report;
  report.problem = Pipeline::name;
  report.sizes = problem.sizes();
  report.rows = common::verify_variants(program, problem, variants, stream.get());
  const bool timed = !program.verify_only();
  const bool show_overlap = timed && program.device().keeps_time();
  if (timed) {
    common::time_variants(program, problem, variants, stream.get(), report.rows);
    common::derive_figures(problem, variants, program.device(), report.rows);
  }
  double ideal_ms = common::kUnknown;
  for (const common::Row& row : report.rows) {
    if (row.name == "ideal" && row.timing.samples > 0) ideal_ms = row.timing.median_ms;
  }
  for (common::Row& row : report.rows) {
    if (show_overlap && row.timing.samples > 0) row.ratio_to_peer = ideal_ms / row.timing.median_ms;
  }
  program.progress("");
  program.add(report);
  if (!show_overlap) {
    if (timed) std::printf("Overlap is not shown: this device models no time.\n");
    return;
  }

  on_pinned(problem, [&program](Batch& batch) -> common::Phases {
    const StageTimes alone = time_stages(batch);
    program.add(common::Sweep{
        Pipeline::name,
        "stage",
        {"copy_in_ms", "kernel_ms", "copy_out_ms", "sum_ms", "ideal_ms"},
        {{alone.copy_in, alone.kernel, alone.copy_out, alone.sum(), alone.longest()}}});
    return {};
  });
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const common::Row& row = report.rows[i];
    if (row.verdict.status != common::Status::right || row.name == "ideal") continue;
    timelines.push_back(trace_rung(problem, variants[i]));
    print_timeline(timelines.back());
    std::printf("  timed without the events: %.3f ms, %.1f %% above the ideal %.3f ms\n",
                row.timing.median_ms, 100 * (row.timing.median_ms / ideal_ms - 1), ideal_ms);
  }
}

// --sweep streams: how many streams does it take?
inline void sweep_streams(common::Program& program, Pipeline& problem) {
  if (!program.device().keeps_time()) {
    throw common::UsageError("--sweep streams: needs a GPU, this device models no time");
  }
  std::vector<common::Variant<Pipeline>> variants = {pipeline_ideal()};
  for (int streams = 1; streams <= kMostStreams; ++streams) {
    variants.push_back(common::round_trip<Pipeline>(
        std::to_string(streams) + " streams", "", [streams](Pipeline& p) {
          return on_pinned(p, [streams](Batch& batch) -> common::Phases {
            common::CpuTimer timer;
            pipeline_streams(batch, streams);
            batch.synchronize();
            return {{"in, kernel, out", timer.elapsed_ms()}};
          });
        }));
  }
  const std::vector<double> ms = common::time_sweep(program, problem, variants);
  common::Sweep sweep{Pipeline::name, "streams", {"streams", "median_ms", "ideal_over_time"}, {}};
  for (int streams = 1; streams <= kMostStreams; ++streams) {
    sweep.points.push_back({static_cast<double>(streams), ms[streams], ms[0] / ms[streams]});
  }
  program.add(sweep);
}
