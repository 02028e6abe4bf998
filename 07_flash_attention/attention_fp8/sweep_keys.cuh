// --sweep keys: how far off results are as keys become more, and what rounding the inputs costs.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "07_flash_attention/attention_fp8/problem.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/options.hpp"
#include "common/bench/report.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"

namespace attention::fp8 {

// In thousandths of the result, root mean square: `rounding` what Q, K and V as bytes make of an
// exact result, then what each variant makes of that of the bytes; first with values around 0, then
// (`_mean`) around 1/2.
inline bench::Shown sweep_keys(const bench::RunSettings& run, const bench::Settings& settings,
                               const std::vector<bench::Variant<AttentionFp8>>& variants) {
  for (const char* name : {"batch", "heads", "n", "nk", "causal"}) {
    if (settings.given(name)) throw bench::UsageError("--sweep keys has sizes of its own");
  }
  const bool is_real_gpu = run.device.is_real_gpu();
  const bench::WorkStream stream(run.device);
  bench::Sweep sweep{AttentionFp8::name, "keys", {"keys"}, {}};
  const std::int64_t first = is_real_gpu ? 4096 : 256, last = is_real_gpu ? 131072 : 1024;
  const std::int64_t queries = is_real_gpu ? 128 : 8;
  for (std::int64_t keys = first; keys <= last; keys *= 2) {
    std::vector<double> point = {static_cast<double>(keys)};
    for (const double mean : {0.0, 0.5}) {
      const std::string suffix = mean > 0 ? "_mean" : "";
      AttentionFp8 problem({1, 1, queries, keys, kHeadDim, false}, run.seed, mean, is_real_gpu);
      if (keys == first) sweep.columns.push_back("rounding" + suffix);
      point.push_back(1e3 * problem.rounding_of_inputs());
      for (const auto& variant : variants) {
        if (variant.place != bench::Place::device) continue;
        const bench::Verdict verdict = bench::verify(problem, variant, run.device, stream.get());
        if (verdict.status == bench::Status::skipped) continue;
        if (keys == first) sweep.columns.push_back(variant.name + suffix);
        point.push_back(verdict.status == bench::Status::right ? 1e3 * problem.relative_error()
                                                               : std::nan(""));
      }
    }
    sweep.points.push_back(point);
  }
  return sweep.columns.size() > 3 ? bench::Shown{sweep} : bench::Shown{};
}

}  // namespace attention::fp8
