// --sweep n: how the rungs do as sequences get longer.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "07_flash_attention/problem.cuh"
#include "07_flash_attention/settings.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/options.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"

namespace attention {

// TFLOP/s of those of `variants` that run on the device, for sequences of 1024 to 16384 tokens, all
// of 16384 tokens together, and heads of 2048 elements together: the shapes that the papers
// measure. Where the CPU runs the kernels, sequences of 4 to 64 tokens will do.
template <class T>
bench::Shown sweep_n(const bench::RunSettings& run, const bench::Settings& settings,
                     const std::vector<bench::Variant<Problem<T>>>& variants) {
  const Shape base = shape_of<T>(settings, run);
  const bool is_real_gpu = run.device.is_real_gpu();
  const std::int64_t tokens = is_real_gpu ? 16384 : 64;
  const std::int64_t heads = is_real_gpu ? 2048 / base.d : 1;
  std::vector<bench::Variant<Problem<T>>> on_device;
  bench::Sweep sweep{Problem<T>::name, "n", {"n"}, {}};
  for (const auto& variant : variants) {
    if (variant.place != bench::Place::device) continue;
    on_device.push_back(variant);
    sweep.columns.push_back(variant.name);
  }
  if (on_device.empty()) return {};
  if (!run.device.available) {
    throw bench::UsageError("a sweep needs a GPU: " + run.device.reason);
  }
  const bench::WorkStream stream(run.device);
  for (std::int64_t n = tokens / 16; n <= tokens; n *= 2) {
    const Shape shape{tokens / n, heads, n, n, base.d, base.causal};
    bench::require_memory(Problem<T>::memory(shape), run.device);
    Problem<T> problem(shape, run.seed, 1, is_real_gpu);
    auto rows = bench::verify_variants(run, problem, on_device, stream.get());
    bench::time_variants(run, problem, on_device, stream.get(), rows);
    std::vector<double> point = {static_cast<double>(n)};
    for (const bench::Row& row : rows) {
      if (row.verdict.status == bench::Status::wrong) {
        throw std::runtime_error(row.name + ": " + row.verdict.reason);
      }
      const bool timed = row.timing.samples > 0;
      point.push_back(timed ? attention::flops(shape) / (1e9 * row.timing.median_ms)
                            : bench::kUnknown);
    }
    sweep.points.push_back(point);
  }
  run.progress("");
  return {sweep};
}

}  // namespace attention
