// Chapter 04, matrix multiplication: C = A B from three loops to the pace of the multipliers.
//
// Build without make: nvcc -O3 -std=c++17 -I. -Xcompiler -fopenmp 04_matmul/matmul.cu -lcublas
// The ways to do it are listed in sgemm/variants.cuh; the lesson is README.md.
#include <cstdint>
#include <string>

#include "04_matmul/roofline.cuh"
#include "04_matmul/sgemm/sweeps.cuh"
#include "04_matmul/sgemm/variants.cuh"
#include "common/harness.cuh"
#include "common/program.cuh"

int main(int argc, char** argv) {
  Shape asked{0, 0, 0};
  std::int64_t cube = 0;
  bool slow = false;
  std::string sweep, plot;
  common::Program program("04_matmul", "C = A B, from three loops to the pace of the multipliers");
  constexpr std::int64_t kMost = 2'000'000'000;
  auto& options = program.options();
  options.add_integer("size", "m = n = k (default 4096; 512 where the CPU runs the kernels)", &cube,
                      1, kMost);
  options.add_integer("m", "rows of A and C", &asked.m, 1, kMost);
  options.add_integer("n", "columns of B and C", &asked.n, 1, kMost);
  options.add_integer("k", "columns of A, rows of B", &asked.k, 1, kMost);
  options.add_flag("slow", "run slow rungs at any size", [&] { slow = true; });
  options.add_choice("sweep", {"size", "quantization"},
                     "time the best rung and cuBLAS by size, or around multiples of a tile",
                     &sweep);
  options.add_value("plot", "FILE", "write the roofline and the sweep of sizes as SVG",
                    [&](const std::string& file) { plot = file; });

  return program.main(argc, argv, [&](common::Program& frame) {
    const auto variants = frame.select(Sgemm::name, sgemm_variants());
    if (!frame.selection_done()) return;
    // Without a clock the kernels run on the CPU.
    const bool times_are_real = frame.device().clock_ghz > 0;
    if (cube == 0) cube = times_are_real ? 4096 : 512;
    const auto or_cube = [cube](std::int64_t size) { return size > 0 ? size : cube; };
    const Shape shape{or_cube(asked.m), or_cube(asked.n), or_cube(asked.k)};
    if (!sweep.empty()) {
      frame.require_memory(Sgemm::host_bytes({cube, cube, cube}),
                           Sgemm::device_bytes({cube, cube, cube}));
      frame.print_machine();
      if (sweep == "size") sweep_size(frame);
      if (sweep == "quantization") sweep_quantization(frame);
      return;
    }
    frame.require_memory(Sgemm::host_bytes(shape), Sgemm::device_bytes(shape));
    check_writable(plot);
    frame.print_machine();
    print_roof(shape, frame.device());
    Sgemm problem(shape, frame.seed(), times_are_real, slow);
    const common::ProblemReport report = run_sgemm(frame, problem, variants);
    if (!frame.verify_only()) print_reuse(report, shape, frame.device());
    if (!plot.empty()) write_plot(plot, report, shape, frame.device(), sweep_size(frame));
  });
}
