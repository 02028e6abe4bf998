// Chapter 07, softmax alone: every variant is right at every size and for large inputs, and touches
// each element as often as the lesson says.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "07_flash_attention/softmax/ladder.cu"
#include "07_flash_attention/softmax/study/report.cuh"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/verify.hpp"

#if __has_include("simt/profile.h")
#include "simt/profile.h"
#endif

using namespace softmax;

namespace {

struct Size {
  std::int64_t rows, columns;
};

bool is_real_gpu() { return bench::query_device().is_real_gpu(); }

// Whether a rung refuses rows of so many columns: they do not fit where it keeps them.
bool refuses(const std::string& rung, std::int64_t columns) {
  return (rung == "cached" && columns > longest_cached_row()) ||
         (rung == "warp" && columns > kWarpColumns);
}

// Runs the device rungs but naive on `problem`, whose inputs the caller may have filled.
template <class Check>
void for_each_safe_rung(Softmax& problem, Check check) {
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  const auto ladder = softmax_ladder();
  for (const auto& variant : ladder.variants) {
    if (variant.kind == bench::Kind::yardstick || variant.name == "naive") continue;
    if (!bench::why_skipped(variant, device).empty()) continue;
    if (device.available && refuses(variant.name, problem.columns)) continue;
    INFO(variant.name);
    const auto verdict = tests::verify(problem, variant, device, stream.get());
    INFO(verdict.reason);
    CHECK(verdict.status == bench::Status::right);
    check(variant);
  }
}

}  // namespace

TEST_CASE("softmax: every variant is right at every size, or refuses what does not fit") {
  const bench::DeviceFacts device = bench::query_device();
  // Around a warp, a chunk, a block, a block of chunks, what a block loads at a time, and the
  // longest row that shared memory holds.
  std::vector<Size> sizes = {{1, 1},    {2, 2},    {3, 3},     {1, 31},   {5, 32},   {33, 33},
                             {7, 127},  {3, 511},  {2, 512},   {2, 513},  {3, 1024}, {3, 1025},
                             {3, 2047}, {3, 2048}, {3, 2049},  {1, 8191}, {2, 8192}, {1, 8193},
                             {300, 3},  {1000, 4}, {2, 10'007}};
  if (device.available) {
    const std::int64_t longest = longest_cached_row();
    sizes.push_back({1, longest / 4 * 4});
    sizes.push_back({1, longest + 1});
  }
  if (is_real_gpu()) sizes.push_back({70'000, 300});
  std::vector<bench::Settings::Given> given;
  for (const Size size : sizes) given.push_back({{"rows", size.rows}, {"columns", size.columns}});
  tests::every_variant_is_right(softmax_ladder(), given,
                                [](const std::string& name, const bench::Settings::Given& size) {
                                  return refuses(name, size.at("columns"));
                                });
}

TEST_CASE("what a run holds", "[.]") {
  const bench::MemoryNeed beside = {1e6, 3e5};
  tests::takes_what_it_says(softmax_ladder(), {{"rows", 301}, {"columns", 3001}}, beside);
  tests::takes_what_it_says(softmax_ladder(), {{"rows", 3}, {"columns", 300'001}}, beside);
  // Rows so short that what is known of each counts.
  auto nobody = softmax_ladder();
  nobody.variants.clear();
  tests::takes_what_it_says(nobody, {{"rows", 100'003}, {"columns", 8}});
}

TEST_CASE("softmax: a run takes the memory that it says") {
  tests::passes_by_itself("SIMT_THREADS=1 SIMT_CHECK=0", "what a run holds");
}

TEST_CASE("softmax: every launch is in the stream that was given") {
  tests::every_launch_is_in_its_stream(softmax_ladder(), {{"rows", 5}, {"columns", 1000}});
}

TEST_CASE("softmax: the chooser takes the rung that keeps a row nearest") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const bench::WorkStream stream(device);
  const auto ladder = softmax_ladder();
  const auto chosen_for = [&](std::int64_t columns) -> std::string {
    Softmax problem(2, columns, 5);
    for (const auto& variant : ladder.variants) {
      if (variant.kind != bench::Kind::chooser) continue;
      REQUIRE(tests::verify(problem, variant, device, stream.get()).status == bench::Status::right);
      return variant.chose(problem);
    }
    return "nobody";
  };
  CHECK(chosen_for(1024) == "warp");
  CHECK(chosen_for(1025) == "online");
  CHECK(chosen_for(8193) == "cached");
  CHECK(chosen_for(longest_cached_row() + 1) == "online");
}

TEST_CASE("softmax: large inputs overflow in the naive rung and nowhere else") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const auto of_naive = count_nan(softmax::naive);
  CHECK(of_naive.nan > of_naive.elements / 4);
  CHECK(!of_naive.right);
  std::vector<void (*)(const float*, float*, std::int64_t, std::int64_t, cudaStream_t)> rungs = {
      softmax::safe, softmax::online, softmax::cached, softmax::warp};
  for (const auto run : rungs) {
    const auto counts = count_nan(run);
    CHECK(counts.nan == 0);
    CHECK(counts.right);
  }
  // In a table it is skipped there, and never counted as right.
  Softmax problem(2, 100, 1, 1e4);
  const auto ladder = softmax_ladder();
  for (const auto& variant : ladder.variants) {
    if (variant.name != "naive") continue;
    const auto verdict = tests::verify(problem, variant, bench::query_device(), nullptr);
    CHECK(verdict.status == bench::Status::skipped);
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
      for_each_safe_rung(problem, [&](const bench::Variant<Softmax>&) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += problem.y.fetched()[i];
        CHECK(std::fabs(sum - 1) < 1e-5);
      });
    }
  }
}

TEST_CASE("softmax: rows that begin anywhere") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr std::int64_t rows = 3, columns = 1000;  // whole pieces, but not from an odd address
  Softmax problem(rows, columns, 9);
  const kit::DeviceBuffer<float> x(rows * columns + 1), y(rows * columns + 1);
  CUDA_CHECK(cudaMemcpy(x.data() + 1, problem.x.pristine(), sizeof(float) * rows * columns,
                        cudaMemcpyHostToDevice));
  for (const auto run :
       {softmax::naive, softmax::safe, softmax::online, softmax::cached, softmax::warp}) {
    CUDA_CHECK(cudaMemset(y.data(), 0xFF, y.bytes()));
    run(x.data() + 1, y.data() + 1, rows, columns, nullptr);
    problem.y.reset(bench::Side::host);
    CUDA_CHECK(cudaMemcpy(problem.y.host_data(), y.data() + 1, sizeof(float) * rows * columns,
                          cudaMemcpyDeviceToHost));
    CHECK(problem.check().right());
  }
}

TEST_CASE("softmax: a hundred runs give the same bits") {
  if (!is_real_gpu()) SKIP_TEST("takes long without a GPU");
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  for (const Size size : {Size{3000, 999}, Size{60, 70'001}}) {
    Softmax problem(size.rows, size.columns, 8);
    for_each_safe_rung(problem, [&](const bench::Variant<Softmax>& variant) {
      if (variant.place != bench::Place::device) return;
      const std::vector<float> first(problem.y.fetched(), problem.y.fetched() + problem.y.size());
      int different = 0;
      for (int run = 0; run < 100; ++run) {
        problem.y.reset(bench::Side::device);
        CUDA_CHECK(cudaDeviceSynchronize());
        variant.run(problem, stream.get());
        CUDA_CHECK(cudaDeviceSynchronize());
        problem.y.fetch(bench::Side::device);
        const std::size_t bytes = sizeof(float) * first.size();
        if (std::memcmp(first.data(), problem.y.fetched(), bytes) != 0) ++different;
      }
      CHECK(different == 0);
    });
  }
}

TEST_CASE("softmax: the bound lets rounding pass and nothing else") {
  Softmax problem(3, 1000, 2);
  float* y = problem.y.host_data();
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
    const auto ladder = softmax_ladder();
    for (const auto& variant : ladder.variants) {
      if (variant.place != bench::Place::device || variant.kind != bench::Kind::rung) continue;
      if (!bench::why_skipped(variant, bench::query_device()).empty()) continue;
      if (refuses(variant.name, columns)) continue;
      INFO(variant.name << ", " << columns << " columns");
      Softmax problem(rows, columns, 1);
      simt::profile_reset();
      const auto verdict = tests::verify(problem, variant, bench::query_device(), nullptr);
      REQUIRE(verdict.status == bench::Status::right);
      const auto counts = simt::profile("softmax_" + variant.name + "_kernel");
      const Accesses claim = accesses_of(variant.name);
      CHECK(counts.launches == 1);
      CHECK(counts.global.load_bytes_moved() == 4 * rows * columns * claim.reads);
      CHECK(counts.global.store_bytes_moved() == 4 * rows * columns * claim.writes);
      CHECK(counts.global.load_sectors_per_request() == 16);  // float4, coalesced
      CHECK(counts.barriers ==
            (variant.name == "warp" ? 0 : rows * (variant.name == "safe" ? 4 : 2)));
    }
  }
#endif
}
