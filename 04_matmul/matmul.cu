// Chapter 04, matrix multiplication: C = A B from three loops to the pace of the multipliers.
//
// Build without make, for Hopper (otherwise -arch=native):
//   nvcc -O3 -std=c++17 -arch=sm_90a -I. -Xcompiler -fopenmp 04_matmul/matmul.cu -lcublas
// The ways to do it are listed in sgemm/variants.cuh (fp32) and bf16/variants.cuh (tensor cores);
// the lesson is README.md.
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "04_matmul/bf16/sweeps.cuh"
#include "04_matmul/bf16/variants.cuh"
#include "04_matmul/plot.cuh"
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
  auto& options = program.options();
  options.add_integer("size", "m = n = k (default 4096; 512 where the CPU runs the kernels)", &cube,
                      1, kMostSize);
  options.add_integer("m", "rows of A and C", &asked.m, 1, kMostSize);
  options.add_integer("n", "columns of B and C", &asked.n, 1, kMostSize);
  options.add_integer("k", "columns of A, rows of B", &asked.k, 1, kMostSize);
  options.add_flag("slow", "run slow rungs at any size", [&] { slow = true; });
  options.add_choice("sweep", {"size", "quantization"},
                     "time the best rungs and cuBLAS by size, or around multiples of a tile",
                     &sweep);
  options.add_value("plot", "FILE", "write the rooflines and the sweeps of sizes as SVG",
                    [&](const std::string& file) { plot = file; });

  return program.main(argc, argv, [&](common::Program& frame) {
    const auto fp32 = frame.select(Sgemm::name, sgemm_variants());
    const auto bf16_nn = frame.select(Bf16Gemm<false>::name, bf16_gemm_variants<false>());
    const auto bf16_nt = frame.select(Bf16Gemm<true>::name, bf16_gemm_variants<true>());
    if (!frame.selection_done()) return;
    const common::DeviceFacts& device = frame.device();
    // Without a clock the kernels run on the CPU.
    const bool times_are_real = device.keeps_time();
    const bool size_asked = cube + asked.m + asked.n + asked.k > 0;
    if (!sweep.empty() && size_asked) throw common::UsageError("--sweep has sizes of its own");
    if (!sweep.empty() && !plot.empty()) throw common::UsageError("--plot runs the sweep itself");
    if (cube == 0) cube = times_are_real ? 4096 : 512;
    const auto or_cube = [cube](std::int64_t size) { return size > 0 ? size : cube; };
    const Shape shape{or_cube(asked.m), or_cube(asked.n), or_cube(asked.k)};
    const auto require_memory = [&](Shape s) {
      if (!fp32.empty()) frame.require_memory(Sgemm::host_bytes(s), Sgemm::device_bytes(s));
      if (bf16_nn.empty() && bf16_nt.empty()) return;
      frame.require_memory(Bf16Gemm<false>::host_bytes(s), Bf16Gemm<false>::device_bytes(s));
    };
    if (sweep.empty()) require_memory(shape);
    if (sweep == "size" || !plot.empty()) {
      const std::int64_t largest = sizes_of_sweep(times_are_real).back();
      require_memory({largest, largest, largest});
    }
    common::require_writable("plot", plot);
    frame.print_machine();
    if (sweep == "quantization") return sweep_quantization(frame);
    if (sweep == "size") {
      if (!fp32.empty()) sweep_size(frame);
      if (!ends_of_ladder<false>(device).empty() && !bf16_nn.empty()) sweep_size_bf16<false>(frame);
      if (!ends_of_ladder<true>(device).empty() && !bf16_nt.empty()) sweep_size_bf16<true>(frame);
      return;
    }

    std::vector<std::string> charts;
    if (!fp32.empty()) {
      print_roof(shape, sizeof(float), fp32_roof(device));
      Sgemm problem(shape, frame.seed(), times_are_real, slow);
      const common::ProblemReport report = common::run_problem(frame, problem, fp32, true);
      if (!frame.verify_only()) print_reuse(report, shape, device);
      if (!plot.empty()) {
        charts.push_back(roofline_chart(report, shape, sizeof(float), fp32_roof(device)));
        charts.push_back(size_chart(sweep_size(frame)));
      }
    }
    if (bf16_nn.empty() && bf16_nt.empty()) return write_plot(plot, charts);
    print_roof(shape, sizeof(bf16), bf16_roof(device));
    std::shared_ptr<const Bf16Reference> reference;
    const auto run = [&](auto transposed, const auto& variants) {
      if (variants.empty()) return;
      Bf16Gemm<transposed> problem(shape, frame.seed(), times_are_real, slow, reference);
      reference = problem.reference;
      const common::ProblemReport report = common::run_problem(frame, problem, variants, true);
      if (plot.empty() || ends_of_ladder<transposed>(device).empty()) return;
      charts.push_back(roofline_chart(report, shape, sizeof(bf16), bf16_roof(device)));
      charts.push_back(size_chart(sweep_size_bf16<transposed>(frame)));
    };
    run(std::false_type{}, bf16_nn);
    run(std::true_type{}, bf16_nt);
    write_plot(plot, charts);
  });
}
