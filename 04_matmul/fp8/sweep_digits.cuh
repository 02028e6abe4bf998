// --sweep digits: how far off a result is as sums become longer.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "04_matmul/shape.hpp"
#include "04_matmul/study/sweeps.cuh"
#include "common/bench/device_facts.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/report.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"

namespace matmul::fp8 {

// The root mean square of what `c` is off, in thousandths of that of the reference.
template <class Problem>
double thousandths_off(const Problem& problem, const __nv_bfloat16* c) {
  double off = 0, size = 0;
  for (std::int64_t i = 0; i < problem.c.size(); ++i) {
    const double expected = problem.reference.data()[i];
    const double difference = static_cast<double>(static_cast<float>(c[i])) - expected;
    off += difference * difference;
    size += expected * expected;
  }
  return 1e3 * std::sqrt(off / size);
}

// For each k: what rounding the exact sums to bf16 makes, and what each variant makes with it.
template <class Problem>
bench::Shown sweep_digits(const bench::RunSettings& run, const bench::Settings& settings,
                          const std::vector<bench::Variant<Problem>>& variants) {
  refuse_sizes(settings);
  const bool is_real_gpu = run.device.is_real_gpu();
  const bench::WorkStream stream(run.device);
  bench::Sweep sweep{Problem::name, "digits", {"k", "rounding"}, {}};
  const std::int64_t m = is_real_gpu ? 512 : 64, n = is_real_gpu ? 512 : 128;
  const std::int64_t last = is_real_gpu ? 65536 : 1024;
  for (std::int64_t k = 128; k <= last; k *= 2) {
    Problem problem(Shape{m, n, k}, run.seed, is_real_gpu);
    std::vector<__nv_bfloat16> rounded(problem.c.size());
    for (std::int64_t i = 0; i < problem.c.size(); ++i) {
      rounded[i] = __float2bfloat16(static_cast<float>(problem.reference.data()[i]));
    }
    std::vector<double> point = {static_cast<double>(k), thousandths_off(problem, rounded.data())};
    for (const auto& variant : variants) {
      if (variant.place != bench::Place::device) continue;
      const bench::Verdict verdict = bench::verify(problem, variant, run.device, stream.get());
      if (verdict.status == bench::Status::skipped) continue;
      if (k == 128) sweep.columns.push_back(variant.name);
      point.push_back(verdict.status == bench::Status::right
                          ? thousandths_off(problem, problem.c.fetched())
                          : std::nan(""));
    }
    sweep.points.push_back(point);
  }
  return sweep.columns.size() > 2 ? bench::Shown{sweep} : bench::Shown{};
}

}  // namespace matmul::fp8
