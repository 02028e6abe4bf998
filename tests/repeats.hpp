// For tests of what may depend on which thread is faster: every variant many times on one input.
#pragma once

#include <type_traits>
#include <vector>

#include "common/bench/harness.cuh"
#include "tests/catch.hpp"
#include "tests/verify.hpp"

namespace tests {

// Runs every variant that this device runs fifty times: no hang, and right each time.
template <class Problem>
void check_fifty_runs(Problem&& problem,
                      const std::vector<bench::Variant<std::decay_t<Problem>>>& variants) {
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  for (const auto& variant : variants) {
    if (!bench::why_skipped(variant, device).empty()) continue;
    for (int run = 0; run < 50; ++run) {
      INFO(variant.name << ", run " << run);
      const auto verdict = tests::verify(problem, variant, device, stream.get());
      INFO(verdict.reason);
      REQUIRE(verdict.status != bench::Status::wrong);
    }
  }
}

}  // namespace tests
