// --sweep columns: when does a pass cost what it reads?
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "07_flash_attention/softmax/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/options.hpp"
#include "common/bench/report.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"

namespace softmax {

// GB/s of the rungs on matrices of the same number of elements, with ever longer rows; a rung that
// cannot take them has none. Rows that are being worked on at the same time stay in the L2 cache as
// long as they are short, and then a further pass is cheap: the last column is the time of `safe`
// over that of `online`.
inline bench::Shown sweep_columns(const bench::RunSettings& run, const bench::Settings&,
                                  const std::vector<bench::Variant<Softmax>>& variants) {
  if (!run.device.available) {
    throw bench::UsageError("a sweep needs a GPU: " + run.device.reason);
  }
  const bool is_real_gpu = run.device.is_real_gpu();
  const std::int64_t elements = is_real_gpu ? std::int64_t{1} << 28 : 1 << 16;
  const std::int64_t longest = is_real_gpu ? 1 << 20 : 1 << 14;
  std::vector<bench::Variant<Softmax>> on_device;
  bench::Sweep sweep{Softmax::name, "columns", {"columns"}, {}};
  for (const auto& variant : variants) {
    if (variant.place != bench::Place::device || variant.kind == bench::Kind::yardstick) continue;
    on_device.push_back(variant);
    sweep.columns.push_back(variant.name + "_gbps");
  }
  if (on_device.empty()) return {};
  sweep.columns.push_back("safe_over_online");

  const bench::WorkStream stream(run.device);
  for (std::int64_t columns = 1 << 10; columns <= longest; columns *= 4) {
    const std::int64_t rows = elements / columns;
    bench::require_memory(Softmax::memory(rows, columns), run.device);
    Softmax problem(rows, columns, run.seed);
    auto found = bench::verify_variants(run, problem, on_device, stream.get());
    bench::time_variants(run, problem, on_device, stream.get(), found);
    std::vector<double> point = {static_cast<double>(columns)};
    double safe_ms = bench::kUnknown, online_ms = bench::kUnknown;
    for (const bench::Row& row : found) {
      if (row.verdict.status == bench::Status::wrong) {
        throw std::runtime_error(row.name + ": " + row.verdict.reason);
      }
      const double ms = row.timing.samples > 0 ? row.timing.median_ms : bench::kUnknown;
      point.push_back(problem.bytes() / (1e6 * ms));
      if (row.name == "safe") safe_ms = ms;
      if (row.name == "online") online_ms = ms;
    }
    point.push_back(safe_ms / online_ms);
    sweep.points.push_back(point);
  }
  run.progress("");
  return {sweep};
}

}  // namespace softmax
