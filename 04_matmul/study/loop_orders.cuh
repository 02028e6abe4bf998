// --sweep loops: three loops in three orders, on one core.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "04_matmul/sgemm/01_sequential.hpp"
#include "04_matmul/sgemm/problem.cuh"
#include "04_matmul/study/sweeps.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/report.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"

namespace matmul::sgemm {

// The textbook's order, row, column, sum: the innermost loop walks down a column of B.
// (`sequential` has row, sum, column.)
inline void multiply_row_column_sum(const float* a, const float* b, float* c, std::int64_t m,
                                    std::int64_t n, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
      c[i * n + j] = sum;
    }
  }
}

// Column, sum, row: the innermost loop walks down a column of A and one of C.
inline void multiply_column_sum_row(const float* a, const float* b, float* c, std::int64_t m,
                                    std::int64_t n, std::int64_t k) {
  std::fill(c, c + m * n, 0.0f);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t p = 0; p < k; ++p) {
      const float y = b[p * n + j];
      for (std::int64_t i = 0; i < m; ++i) c[i * n + j] += a[i * k + p] * y;
    }
  }
}

// GFLOP/s of the three for square matrices.
inline bench::Shown sweep_loops(const bench::RunSettings& run, const bench::Settings& settings,
                                const std::vector<bench::Variant<Sgemm>>&) {
  refuse_sizes(settings);
  const std::vector<bench::Variant<Sgemm>> orders = {
      bench::cpu_variant<Sgemm>("row_column_sum", "", on_host(multiply_row_column_sum)),
      bench::cpu_variant<Sgemm>("row_sum_column", "", on_host(sgemm_sequential)),
      bench::cpu_variant<Sgemm>("column_sum_row", "", on_host(multiply_column_sum_row))};
  bench::Sweep sweep{Sgemm::name, "loops", {"n"}, {}};
  for (const auto& order : orders) sweep.columns.push_back(order.name + "_gflops");
  const bool is_real_gpu = run.device.is_real_gpu();
  for (const std::int64_t n : is_real_gpu ? std::vector<std::int64_t>{128, 256, 512, 1024}
                                          : std::vector<std::int64_t>{128, 256}) {
    const Shape shape{n, n, n};
    Sgemm problem(shape, run.seed, is_real_gpu);
    std::vector<double> point = {static_cast<double>(n)};
    for (const double ms : bench::time_sweep(run, problem, orders)) {
      point.push_back(shape.flops() / (1e6 * ms));
    }
    sweep.points.push_back(point);
  }
  return {sweep};
}

}  // namespace matmul::sgemm
