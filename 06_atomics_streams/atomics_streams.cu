// Chapter 06, atomics and streams: many threads and one cell, many queues and one GPU.
//
// Build without make:
//   nvcc -O3 -std=c++17 -I. -Xcompiler -fopenmp 06_atomics_streams/atomics_streams.cu -lcurand
// Each folder is a problem; its variants.cuh lists the ways to solve it. The lesson is README.md.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "06_atomics_streams/atomics_demo.cuh"
#include "06_atomics_streams/default_stream/variants.cuh"
#include "06_atomics_streams/float_max/variants.cuh"
#include "06_atomics_streams/histogram/sweep_bins.cuh"
#include "06_atomics_streams/histogram/variants.cuh"
#include "06_atomics_streams/lock/variants.cuh"
#include "06_atomics_streams/one_cell/racy_report.cuh"
#include "06_atomics_streams/one_cell/variants.cuh"
#include "06_atomics_streams/pi/variants.cuh"
#include "06_atomics_streams/pipeline/overlap.cuh"
#include "06_atomics_streams/pipeline/variants.cuh"
#include "06_atomics_streams/small_kernels/variants.cuh"
#include "06_atomics_streams/timeline.hpp"
#include "common/harness.cuh"
#include "common/program.cuh"

namespace {

struct Options {
  std::int64_t n = 0;  // 0: each problem's own default
  std::int64_t chunks = 32, rounds = 0;
  std::string input = "uniform", sweep, demo, timeline;
};

constexpr std::int64_t kMostLocks = 1 << 16;  // each thread's turn takes microseconds

// Elements of each problem. A device that keeps no time runs the kernels on the CPU: there the
// results count, not the times, and smaller sizes will do.
struct Elements {
  std::int64_t one_cell, histogram, float_max, lock, pipeline, pi;
  int rounds;  // of the pipeline

  Elements(const Options& options, bool real_gpu)
      : one_cell(real_gpu ? 10'000'000 : 1'000'000),
        histogram(real_gpu ? 1 << 26 : 4'000'000),
        float_max(real_gpu ? 10'000'000 : 1'000'000),
        lock(1 << 12),
        pipeline(real_gpu ? 1 << 25 : 1 << 19),
        pi(real_gpu ? 1 << 26 : 1 << 21),
        rounds(options.rounds > 0 ? static_cast<int>(options.rounds)
               : real_gpu         ? 384
                                  : 32) {
    if (options.n > 0) {
      one_cell = histogram = float_max = pipeline = pi = options.n;
      lock = std::min(options.n, kMostLocks);
    }
  }
};

constexpr int kSpinRounds = 20'000;
constexpr int kSmallKernels = 1000;

void add_options(common::Program& program, Options& options) {
  auto& parser = program.options();
  parser.add_integer("n",
                     "elements of every problem, of the lock at most 65536 (default: each its own)",
                     &options.n, 1, 0xfffffffe);
  parser.add_choice("input", {"uniform", "skewed", "constant"}, "bytes of the histogram",
                    &options.input);
  parser.add_integer("chunks", "pieces of the pipeline's batch (default 32)", &options.chunks, 1,
                     1000);
  parser.add_integer("rounds", "computing per element of the pipeline", &options.rounds, 1,
                     100'000);
  parser.add_choice("sweep", {"bins", "streams", "kernels"},
                    "histogram by distinct values, pipeline by streams, graph by kernels",
                    &options.sweep);
  parser.add_choice("demo", {"atomics"}, "show every atomic function once", &options.demo);
  parser.add_value("timeline", "FILE", "draw what overlapped, as SVG (needs a GPU)",
                   [&options](const std::string& file) { options.timeline = file; });
}

// The eight-stream example, and on a GPU its timelines.
void run_default_stream(common::Program& frame,
                        const std::vector<common::Variant<DefaultStream>>& variants,
                        std::vector<Timeline>& timelines) {
  if (variants.empty()) return;
  DefaultStream problem(kSpinRounds);
  common::run_problem(frame, problem, variants);
  if (frame.verify_only() || !frame.device().keeps_time()) return;
  for (const EightVariant& eight : eight_variants()) {
    for (const auto& variant : variants) {
      if (variant.name != eight.name) continue;
      timelines.push_back(trace_eight(problem, eight));
      print_timeline(timelines.back());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  common::Program program("06_atomics_streams",
                          "many threads and one cell, many queues and one GPU");
  add_options(program, options);

  return program.main(argc, argv, [&](common::Program& frame) {
    const auto one_cell = frame.select(OneCell::name, one_cell_variants());
    const auto racy = frame.select("wrong_on_purpose", one_cell_wrong_on_purpose());
    const auto histogram = frame.select(Histogram::name, histogram_variants());
    const auto float_max = frame.select(FloatMax::name, float_max_variants());
    const auto lock = frame.select(Lock::name, lock_variants());
    const auto pipeline = frame.select(Pipeline::name, pipeline_variants());
    const auto default_stream = frame.select(DefaultStream::name, default_stream_variants());
    const auto small_kernels = frame.select(SmallKernels::name, small_kernels_variants());
    const auto pi = frame.select(Pi::name, pi_variants());
    if (!frame.selection_done()) return;
    if (options.demo == "atomics") {
      if (!frame.device().available) {
        throw common::UsageError("--demo atomics: needs a GPU: " + frame.device().reason);
      }
      atomics_demo();
      return;
    }

    const bool real_gpu = frame.device().keeps_time();
    if (!options.timeline.empty() && !real_gpu) {
      throw common::UsageError("--timeline: needs a GPU, this device models no time");
    }
    const Elements elements(options, real_gpu);
    const auto require = [&frame](bool wanted, double host_bytes, double device_bytes) {
      if (wanted) frame.require_memory(host_bytes, device_bytes);
    };
    require(!one_cell.empty() || !racy.empty(), OneCell::host_bytes(elements.one_cell),
            OneCell::device_bytes(elements.one_cell));
    require(!histogram.empty(), Histogram::host_bytes(elements.histogram),
            Histogram::device_bytes(elements.histogram));
    require(!float_max.empty(), FloatMax::host_bytes(elements.float_max),
            FloatMax::device_bytes(elements.float_max));
    require(!lock.empty(), Lock::host_bytes(elements.lock), Lock::device_bytes(elements.lock));
    require(!pipeline.empty(), Pipeline::host_bytes(elements.pipeline),
            Pipeline::device_bytes(elements.pipeline));
    frame.print_machine();

    const int chunks = static_cast<int>(options.chunks);
    if (options.sweep == "bins") {
      sweep_bins(frame, elements.histogram, histogram);
      return;
    }
    if (options.sweep == "streams") {
      Pipeline problem(elements.pipeline, chunks, elements.rounds, frame.seed());
      sweep_streams(frame, problem);
      return;
    }
    if (options.sweep == "kernels") {
      sweep_kernels(frame);
      return;
    }

    if (!one_cell.empty() || !racy.empty()) {
      OneCell problem(elements.one_cell, frame.seed());
      report_racy(frame, problem, racy);
      common::run_problem(frame, problem, one_cell);
    }
    if (!histogram.empty()) {
      Histogram problem(elements.histogram, frame.seed(), histogram_input(options.input));
      common::run_problem(frame, problem, histogram);
    }
    if (!float_max.empty()) {
      FloatMax problem(elements.float_max, frame.seed());
      common::run_problem(frame, problem, float_max);
    }
    if (!lock.empty()) {
      Lock problem(elements.lock, frame.seed());
      common::run_problem(frame, problem, lock);
    }
    std::vector<Timeline> of_pipeline, of_default_stream;
    if (!pipeline.empty()) {
      Pipeline problem(elements.pipeline, chunks, elements.rounds, frame.seed());
      run_pipeline(frame, problem, pipeline, of_pipeline);
    }
    run_default_stream(frame, default_stream, of_default_stream);
    if (!small_kernels.empty()) {
      SmallKernels problem(kSmallKernels, frame.seed());
      common::run_problem(frame, problem, small_kernels);
    }
    if (!pi.empty()) {
      Pi problem(elements.pi, frame.seed());
      common::run_problem(frame, problem, pi);
    }
    if (!options.timeline.empty()) {
      write_timelines(options.timeline, {of_pipeline, of_default_stream});
    }
  });
}
