// Chapter 03, coalescing: where the lanes of a warp look decides how much of memory's work is of
// use.
//
// Build without make:
//   nvcc -O3 -std=c++17 -I. -Xcompiler -fopenmp 03_coalescing/coalescing.cu -lcublas
// The ways to do it are listed in the variants.cuh of each problem; the lesson is README.md.
#include <cstdint>
#include <string>
#include <vector>

#include "03_coalescing/copy/problem.cuh"
#include "03_coalescing/copy/sweeps.cuh"
#include "03_coalescing/copy/variants.cuh"
#include "03_coalescing/latency/cycles.cuh"
#include "03_coalescing/latency/problem.cuh"
#include "03_coalescing/latency/variants.cuh"
#include "03_coalescing/particles/problem.cuh"
#include "03_coalescing/particles/variants.cuh"
#include "03_coalescing/transpose/pitch_demo.cuh"
#include "03_coalescing/transpose/problem.cuh"
#include "03_coalescing/transpose/variants.cuh"
#include "03_coalescing/window/problem.cuh"
#include "03_coalescing/window/variants.cuh"
#include "common/harness.cuh"
#include "common/program.cuh"

namespace {

struct Sizes {
  std::int64_t n = 10'000'000;
  std::int64_t particles = 2'000'000;
  std::int64_t rows = 2048, cols = 3072;
  std::int64_t signal = 4'000'000;
  std::int64_t radius = 8;
};

void run_latency(common::Program& frame, const std::vector<common::Variant<Latency>>& variants) {
  if (variants.empty()) return;
  Latency problem(frame.device(), frame.seed());
  run_problem(frame, problem, variants);
  if (frame.verify_only() || !frame.device().available) return;
  const common::WorkStream stream(frame.device());
  measure_cycles(frame, problem, variants, stream.get());
}

}  // namespace

int main(int argc, char** argv) {
  Sizes sizes;
  std::string sweep, demo;
  common::Program program("03_coalescing", "which bytes a warp asks for, and how long they take");
  auto& options = program.options();
  options.add_integer("n", "floats to copy (default 10000000)", &sizes.n, 1, INT64_MAX);
  options.add_integer("particles", "particles (default 2000000)", &sizes.particles, 1, INT64_MAX);
  options.add_integer("rows", "rows to transpose (default 2048)", &sizes.rows, 1, INT32_MAX);
  options.add_integer("cols", "columns to transpose (default 3072)", &sizes.cols, 1, INT32_MAX);
  options.add_integer("signal", "floats under the window (default 4000000)", &sizes.signal, 1,
                      INT64_MAX);
  options.add_integer("radius", "radius of the window (default 8)", &sizes.radius, 0, kMaxRadius);
  options.add_choice("sweep", {"stride", "offset"},
                     "time loads with strides 1 to 32, or with offsets 0 to 31", &sweep);
  options.add_choice("demo", {"pitch"}, "show what cudaMallocPitch returns", &demo);

  return program.main(argc, argv, [&](common::Program& frame) {
    const auto copy = frame.select(Copy::name, copy_variants());
    const auto particles = frame.select(Particles::name, particles_variants());
    const auto transpose = frame.select(Transpose::name, transpose_variants());
    const auto window = frame.select(Window::name, window_variants());
    const auto latency = frame.select(Latency::name, latency_variants());
    if (!frame.selection_done()) return;
    if (demo == "pitch") {
      pitch_demo(frame.device());
      return;
    }
    const std::int64_t n = sizes.n;
    if (!copy.empty() || !sweep.empty()) {
      frame.require_memory(Copy::host_bytes(n), Copy::device_bytes(n));
    }
    if (!sweep.empty()) {
      Copy problem(n, frame.seed());
      frame.print_machine();
      sweep == "stride" ? sweep_stride(frame, problem) : sweep_offset(frame, problem);
      return;
    }
    if (!particles.empty()) {
      frame.require_memory(Particles::host_bytes(sizes.particles),
                           Particles::device_bytes(sizes.particles));
    }
    if (!transpose.empty()) {
      frame.require_memory(Transpose::host_bytes(sizes.rows, sizes.cols),
                           Transpose::device_bytes(sizes.rows, sizes.cols));
    }
    if (!window.empty()) {
      frame.require_memory(Window::host_bytes(sizes.signal), Window::device_bytes(sizes.signal));
    }
    if (!latency.empty()) frame.require_memory(Latency::host_bytes(), Latency::device_bytes());

    frame.print_machine();
    if (!copy.empty()) {
      Copy problem(n, frame.seed());
      run_problem(frame, problem, copy);
    }
    if (!particles.empty()) {
      Particles problem(sizes.particles, frame.seed());
      run_problem(frame, problem, particles);
    }
    if (!transpose.empty()) {
      Transpose problem(sizes.rows, sizes.cols, frame.seed());
      run_problem(frame, problem, transpose);
    }
    if (!window.empty()) {
      Window problem(sizes.signal, static_cast<int>(sizes.radius), frame.seed());
      run_problem(frame, problem, window);
    }
    run_latency(frame, latency);
  });
}
