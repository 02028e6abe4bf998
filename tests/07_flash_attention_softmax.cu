// Chapter 07, softmax alone: every variant is right at every size and for large inputs, and touches
// each element as often as the lesson says.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "07_flash_attention/softmax/report.cuh"
#include "07_flash_attention/softmax/variants.cuh"
#include "common/harness.cuh"
#include "tests/catch.hpp"

#if __has_include("simt/profile.h")
#include "simt/profile.h"
#endif

namespace {

struct Size {
  std::int64_t rows, columns;
};

bool times_are_real() { return common::query_device().keeps_time(); }

// Runs the device rungs but naive on `problem`, whose inputs the caller may have filled.
template <class Check>
void for_each_safe_rung(Softmax& problem, Check check) {
  const common::DeviceFacts device = common::query_device();
  const common::WorkStream stream(device);
  for (const auto& variant : softmax_variants()) {
    if (variant.kind != common::Kind::rung || variant.name == "naive") continue;
    if (!common::why_skipped(variant, device).empty()) continue;
    INFO(variant.name);
    const auto verdict = common::verify(problem, variant, device, stream.get());
    INFO(verdict.reason);
    CHECK(verdict.status == common::Status::right);
    check(variant);
  }
}

}  // namespace

TEST_CASE("softmax: every variant is right at every size") {
  const common::DeviceFacts device = common::query_device();
  const common::WorkStream stream(device);
  // Around a warp, a piece, a block, a block of pieces, what a block loads at a time, and the
  // longest row that shared memory holds.
  std::vector<Size> sizes = {{1, 1},    {2, 2},    {3, 3},    {1, 31},    {5, 32},
                             {33, 33},  {7, 127},  {3, 511},  {2, 512},   {2, 513},
                             {3, 2047}, {3, 2048}, {3, 2049}, {1, 8191},  {2, 8192},
                             {1, 8193}, {300, 3},  {1000, 4}, {2, 10'007}};
  if (device.available) {
    const std::int64_t longest = longest_cached_row();
    sizes.push_back({1, longest / 4 * 4});
    sizes.push_back({1, longest + 1});
  }
  if (times_are_real()) sizes.push_back({70'000, 300});
  for (const auto& variant : softmax_variants()) {
    DYNAMIC_SECTION(variant.name) {
      const std::string reason = common::why_skipped(variant, device);
      if (!reason.empty()) SKIP_TEST(reason);
      for (const Size size : sizes) {
        INFO(size.rows << " x " << size.columns);
        Softmax problem(size.rows, size.columns, 5);
        const auto verdict = common::verify(problem, variant, device, stream.get());
        INFO(verdict.reason);
        REQUIRE(verdict.status == common::Status::right);
      }
    }
  }
}

TEST_CASE("softmax: large inputs overflow in the naive rung and nowhere else") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  const auto naive = softmax_of_large_inputs(softmax_naive);
  CHECK(naive.nan > naive.elements / 4);
  CHECK(!naive.right);
  std::vector<void (*)(const float*, float*, std::int64_t, std::int64_t, cudaStream_t)> rungs = {
      softmax_safe, softmax_online, softmax_cached, softmax_warp};
  for (const auto run : rungs) {
    const auto counts = softmax_of_large_inputs(run);
    CHECK(counts.nan == 0);
    CHECK(counts.right);
  }
  // In a table it is skipped there, and never counted as right.
  Softmax problem(2, 100, 1, 1e4);
  for (const auto& variant : softmax_variants()) {
    if (variant.name != "naive") continue;
    const auto verdict = common::verify(problem, variant, common::query_device(), nullptr);
    CHECK(verdict.status == common::Status::skipped);
  }
}

TEST_CASE("softmax: rows whose largest element moves, or stays, or stands out") {
  constexpr std::int64_t n = 4001;
  for (const std::string kind : {"rising", "falling", "constant", "last", "very small"}) {
    DYNAMIC_SECTION(kind) {
      Softmax problem(2, n, 1);
      for (std::int64_t i = 0; i < 2 * n; ++i) {
        const auto at = static_cast<float>(i % n);
        problem.x.pristine()[i] = kind == "rising"     ? at
                                  : kind == "falling"  ? -at
                                  : kind == "constant" ? 3.5f
                                  : kind == "last"     ? (i % n == n - 1 ? 1000.0f : -1000.0f)
                                                       : -1e30f - 1e28f * (i % 7);
      }
      problem.compute_reference();
      for_each_safe_rung(problem, [&](const common::Variant<Softmax>&) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += problem.y.fetched()[i];
        CHECK(std::fabs(sum - 1) < 1e-5);
      });
    }
  }
}

TEST_CASE("softmax: rows that begin anywhere") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  constexpr std::int64_t rows = 3, columns = 1000;  // whole pieces, but not from an odd address
  Softmax problem(rows, columns, 9);
  const common::DeviceBuffer<float> x(rows * columns + 1), y(rows * columns + 1);
  CUDA_CHECK(cudaMemcpy(x.data() + 1, problem.x.pristine(), sizeof(float) * rows * columns,
                        cudaMemcpyHostToDevice));
  for (const auto run :
       {softmax_naive, softmax_safe, softmax_online, softmax_cached, softmax_warp}) {
    CUDA_CHECK(cudaMemset(y.data(), 0xFF, y.bytes()));
    run(x.data() + 1, y.data() + 1, rows, columns, nullptr);
    problem.y.reset(common::Side::host);
    CUDA_CHECK(cudaMemcpy(problem.y.on_host(), y.data() + 1, sizeof(float) * rows * columns,
                          cudaMemcpyDeviceToHost));
    CHECK(problem.check().right());
  }
}

TEST_CASE("softmax: a hundred runs give the same bits") {
  if (!times_are_real()) SKIP_TEST("takes long without a GPU");
  const common::DeviceFacts device = common::query_device();
  const common::WorkStream stream(device);
  for (const Size size : {Size{3000, 999}, Size{60, 70'001}}) {
    Softmax problem(size.rows, size.columns, 8);
    for_each_safe_rung(problem, [&](const common::Variant<Softmax>& variant) {
      if (variant.place != common::Place::device) return;
      const std::vector<float> first(problem.y.fetched(), problem.y.fetched() + problem.y.size());
      int different = 0;
      for (int run = 0; run < 100; ++run) {
        problem.y.reset(common::Side::device);
        CUDA_CHECK(cudaDeviceSynchronize());
        variant.run(problem, stream.get());
        CUDA_CHECK(cudaDeviceSynchronize());
        problem.y.fetch(common::Side::device);
        const std::size_t bytes = sizeof(float) * first.size();
        if (std::memcmp(first.data(), problem.y.fetched(), bytes) != 0) ++different;
      }
      CHECK(different == 0);
    });
  }
}

TEST_CASE("softmax: the bound lets rounding pass and nothing else") {
  Softmax problem(3, 1000, 2);
  float* y = problem.y.on_host();
  const auto restore = [&] {
    for (std::int64_t i = 0; i < 3000; ++i) {
      y[i] = static_cast<float>(problem.expected(i / 1000, i % 1000));
    }
  };
  restore();
  CHECK(problem.check().right());
  y[1234] *= 1.001f;
  CHECK(problem.check().wrong == 1);
  CHECK(problem.check().first_wrong == 1234);
  restore();
  y[77] = std::nanf("");
  y[2000] = std::nanf("");
  CHECK(problem.check().wrong == 2);
  CHECK(problem.check().first_wrong == 77);
  CHECK(std::isnan(problem.check().max_error));
  restore();
  for (int i = 0; i < 1000; ++i) y[i] *= 999.0f / 1000;  // the sum had a term too many
  CHECK(problem.check().wrong == 1000);
}

TEST_CASE("softmax: reads and writes of an element, counted") {
#ifndef SIMT_INSTRUMENTED
  SKIP_TEST("counters need simt");
#else
  constexpr std::int64_t rows = 2;
  for (const std::int64_t columns : {1024, 6144}) {
    for (const auto& variant : softmax_variants()) {
      if (variant.place != common::Place::device || variant.kind != common::Kind::rung) continue;
      if (!common::why_skipped(variant, common::query_device()).empty()) continue;
      if (variant.name == "warp" && columns > kWarpColumns) continue;  // then it is "cached"
      INFO(variant.name << ", " << columns << " columns");
      Softmax problem(rows, columns, 1);
      simt::profile_reset();
      const auto verdict = common::verify(problem, variant, common::query_device(), nullptr);
      REQUIRE(verdict.status == common::Status::right);
      const auto counts = simt::profile("softmax_" + variant.name + "_kernel");
      const Accesses claim = softmax_accesses(variant.name, columns);
      CHECK(counts.launches == 1);
      CHECK(counts.global.load_bytes_moved() == 4 * rows * columns * claim.reads);
      CHECK(counts.global.store_bytes_moved() == 4 * rows * columns * claim.writes);
      CHECK(counts.global.load_sectors_per_request() == 16);  // float4, coalesced
      CHECK(counts.barriers ==
            (variant.name == "warp" ? 0 : rows * (variant.name == "safe" ? 4 : 2)));
    }
  }
  constexpr std::int64_t columns = 6144;
  CHECK(softmax_accesses("safe", columns).reads == 3);
  CHECK(softmax_accesses("online", columns).reads == 2);
  CHECK(softmax_accesses("cached", columns).reads == 1);
  CHECK(softmax_accesses("cached", longest_cached_row() + 1).reads == 2);
#endif
}
