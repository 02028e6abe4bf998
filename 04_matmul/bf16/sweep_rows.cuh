// --sweep rows: the last rungs beside cuBLAS, over the layers of language models and rows of A.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "04_matmul/bf16/problem.cuh"
#include "04_matmul/shape.hpp"
#include "04_matmul/study/sweeps.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"

namespace matmul::bf16 {

// Microseconds of each, and how many times as fast as cuBLAS the fastest rung is. B comes from
// memory: the launches of a sample take copies of it in turn.
template <bool kTransposedB>
bench::Shown sweep_rows(const bench::RunSettings& run, const bench::Settings& settings,
                        const std::vector<bench::Variant<Bf16Gemm<kTransposedB>>>& variants) {
  using Problem = Bf16Gemm<kTransposedB>;
  refuse_sizes(settings);
  const bool is_real_gpu = run.device.is_real_gpu();
  std::vector<std::array<std::int64_t, 2>> layers = {
      // n, k
      {4096, 4096}, {11008, 4096}, {4096, 11008}, {14336, 4096}, {28672, 8192}, {32000, 4096}};
  std::vector<std::int64_t> rows = {1, 8, 16, 32, 64, 128};
  if (!is_real_gpu) layers = {{256, 256}}, rows = {1, 16};
  if (is_real_gpu) bench::require_memory(Problem::memory({128, 28672, 8192}), run.device);

  // Those that this machine has.
  const bench::WorkStream stream(run.device);
  Problem first({1, 256, 256}, run.seed, is_real_gpu);
  std::vector<bench::Variant<Problem>> shown;
  for (const auto& variant : variants) {
    const std::string& name = variant.name;
    if (name == "warp_per_row" || name == "loads_ahead") continue;  // slow from eight rows on
    const bench::Verdict verdict = bench::verify(first, variant, run.device, stream.get());
    if (verdict.status != bench::Status::skipped) shown.push_back(variant);
  }
  bench::Sweep sweep{kTransposedB ? "thin_gemm" : "thin_gemm_kn", "rows", {"m", "n", "k"}, {}};
  for (const auto& variant : shown) sweep.columns.push_back(variant.name + "_us");
  sweep.columns.push_back("over_cublas");
  for (const auto& [n, k] : layers) {
    for (const std::int64_t m : rows) {
      Problem problem({m, n, k}, run.seed, is_real_gpu);
      const std::vector<double> ms = bench::time_sweep(run, problem, shown);
      std::vector<double> point = {static_cast<double>(m), static_cast<double>(n),
                                   static_cast<double>(k)};
      double ours = HUGE_VAL, library = std::nan("");
      for (std::size_t i = 0; i < shown.size(); ++i) {
        point.push_back(1e3 * ms[i]);
        if (shown[i].kind == bench::Kind::rung) ours = std::min(ours, ms[i]);
        if (shown[i].name == "cublas") library = ms[i];
      }
      point.push_back(library / ours);
      sweep.points.push_back(point);
    }
  }
  return {sweep};
}

}  // namespace matmul::bf16
