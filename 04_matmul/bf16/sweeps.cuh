// --sweep size, and the roof.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "04_matmul/bf16/problem.cuh"
#include "04_matmul/bf16/variants.cuh"
#include "04_matmul/roofline.cuh"
#include "04_matmul/sgemm/sweeps.cuh"
#include "common/harness.cuh"
#include "common/program.cuh"

// The roof of the tensor cores.
inline Roof bf16_roof(const common::DeviceFacts& device) {
  return {peak_bf16_gflops(device), device.peak_bandwidth_gbps};
}

// The rungs at the ends of the ladder's parts and cuBLAS, as far as this machine runs them.
template <bool kTransposedB>
std::vector<common::Variant<Bf16Gemm<kTransposedB>>> ends_of_ladder(
    const common::DeviceFacts& device) {
  std::vector<std::string> names = {"wmma"};
  if (device.keeps_time()) {  // otherwise kernels run on the CPU, which does not know mma.sync
    names = {"multistage", "cublas"};
    const auto hopper = bf16_gemm_hopper_variants<kTransposedB>();
    if (!hopper.empty()) names.insert(names.begin() + 1, hopper.back().name);
  }
  std::vector<common::Variant<Bf16Gemm<kTransposedB>>> chosen;
  for (const auto& name : names) {
    for (const auto& variant : bf16_gemm_variants<kTransposedB>()) {
      if (variant.name == name && common::why_skipped(variant, device).empty()) {
        chosen.push_back(variant);
      }
    }
  }
  return chosen;
}

template <bool kTransposedB>
common::Sweep sweep_size_bf16(common::Program& program) {
  const bool real = program.device().keeps_time();
  const auto variants = ends_of_ladder<kTransposedB>(program.device());
  common::Sweep sweep{Bf16Gemm<kTransposedB>::name, "size", {"n", "flop_per_byte"}, {}};
  for (const auto& variant : variants) sweep.columns.push_back(variant.name + "_tflops");
  for (const std::int64_t n : sizes_of_sweep(real)) {
    const Shape shape{n, n, n};
    Bf16Gemm<kTransposedB> problem(shape, program.seed(), real);
    std::vector<double> point = {static_cast<double>(n), shape.intensity(sizeof(bf16))};
    for (const double ms : common::time_sweep(program, problem, variants)) {
      point.push_back(shape.flops() / (1e9 * ms));
    }
    sweep.points.push_back(point);
  }
  program.add(sweep);
  return sweep;
}
