// Works out what the times say: rates, percent of the limit, ratios to the baseline and the peer.
#pragma once

#include <cmath>
#include <vector>

#include "common/bench/device_facts.cuh"
#include "common/bench/problem_traits.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"

namespace bench {

// Rates and ratios out of the times.
template <class Problem>
void derive_figures(const Problem& problem, const std::vector<Variant<Problem>>& variants,
                    const DeviceFacts& device, std::vector<Row>& rows) {
  double sequential_ms = kUnknown;
  double peer_ms = kUnknown;  // best peer on the device
  double ideal_ms = kUnknown;
  double cpu_gbps = kUnknown;  // best yardstick on the CPU
  for (std::size_t i = 0; i < variants.size(); ++i) {
    Row& row = rows[i];
    if (row.timing.samples == 0) continue;
    const double ms = row.timing.median_ms;
    const double bytes = variants[i].bytes ? variants[i].bytes(problem) : problem.bytes();
    if (bytes > 0) row.gbps = bytes / (1e6 * ms);
    // A yardstick that does not say what it computes shows no rate.
    const double flops = variants[i].flops                ? variants[i].flops(problem)
                         : is_yardstick(variants[i].kind) ? 0
                                                          : problem.flops();
    if (flops > 0) row.gflops = flops / (1e6 * ms);
    if (variants[i].kind == Kind::baseline) sequential_ms = ms;
    if (variants[i].kind == Kind::peer) peer_ms = std::fmin(peer_ms, ms);
    if (variants[i].kind == Kind::ideal) ideal_ms = ms;
    if (variants[i].kind == Kind::yardstick && variants[i].place == Place::cpu) {
      cpu_gbps = std::fmax(cpu_gbps, row.gbps);
    }
  }
  for (std::size_t i = 0; i < variants.size(); ++i) {
    Row& row = rows[i];
    if (row.timing.samples == 0) continue;
    const double ms = row.timing.median_ms;
    if (variants[i].place == Place::device && device.peak_bandwidth_gbps > 0) {
      // The larger of two floors: the bytes over the bandwidth, the operations over the rate.
      const double for_bytes = row.gbps / device.peak_bandwidth_gbps;
      double peak_gflops = device.peak_fp32_gflops;
      if constexpr (IsBatched<Problem>::value) peak_gflops = problem.peak_gflops(device);
      const double for_flops = peak_gflops > 0 ? row.gflops / peak_gflops : kUnknown;
      row.percent_of_roof = 100 * std::fmax(for_bytes, for_flops);
    } else if (variants[i].place == Place::cpu) {
      row.percent_of_roof = 100 * row.gbps / cpu_gbps;
    }
    if (ideal_ms > 0) row.ratio_to_peer = ideal_ms / ms;
    if (is_yardstick(variants[i].kind)) continue;
    row.speedup = sequential_ms / ms;
    if (variants[i].place == Place::device && peer_ms > 0) row.ratio_to_peer = peer_ms / ms;
  }
}

}  // namespace bench
