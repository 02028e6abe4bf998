// --sweep tokens: from how many tokens on each device are the copies of the ring hidden?
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "07_flash_attention/ring/problem.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/options.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/devices.cuh"

namespace ring_attention {

// TFLOP/s of each device, for those of `variants` that run on devices, with 512 to 32768 tokens on
// each. That of a yardstick is of the one device that it uses.
template <class T>
bench::Shown sweep_tokens(const bench::RunSettings& run, const bench::Settings& settings,
                          const std::vector<bench::Variant<RingAttention<T>>>& variants) {
  if (!run.device.is_real_gpu()) throw bench::UsageError("a sweep needs GPUs");
  const int size = kit::team_size(settings["devices"]);
  const int d = settings.given("d") ? static_cast<int>(settings["d"]) : 128;
  std::vector<bench::Variant<RingAttention<T>>> compared;
  bench::Sweep sweep{RingAttention<T>::name, "tokens", {"tokens", "devices"}, {}};
  for (const auto& variant : variants) {
    if (variant.place != bench::Place::device) continue;
    compared.push_back(variant);
    sweep.columns.push_back(variant.name);
  }
  if (compared.empty()) return {};
  const bench::WorkStream stream(run.device);
  for (std::int64_t tokens = 512; tokens <= 32768; tokens *= 2) {
    const attention::Shape shape{
        settings["batch"],      settings["heads"], size * tokens, size * tokens, d,
        settings["causal"] != 0};
    bench::require_memory(RingAttention<T>::memory(shape, size), run.device);
    RingAttention<T> problem(shape, size, run.seed);
    auto rows = bench::verify_variants(run, problem, compared, stream.get());
    bench::time_variants(run, problem, compared, stream.get(), rows);
    std::vector<double> point = {static_cast<double>(tokens), static_cast<double>(size)};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].verdict.status == bench::Status::wrong) {
        throw std::runtime_error(rows[i].name + ": " + rows[i].verdict.reason);
      }
      const int devices = bench::is_yardstick(compared[i].kind) ? 1 : size;
      const double ms = rows[i].timing.samples > 0 ? rows[i].timing.median_ms : 0;
      point.push_back(ms > 0 ? problem.flops() / (1e9 * ms * devices) : bench::kUnknown);
    }
    sweep.points.push_back(point);
  }
  run.progress("");
  return {sweep};
}

}  // namespace ring_attention
