// Chapter 03: the window sum, for any length and radius, with its requests counted.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "03_coalescing/window/ladder.cu"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "simt/include/simt/profile.h"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/verify.hpp"

using namespace window;

namespace {

// Lengths around a warp, a block and a tile; radii of none, of all kinds of remainder modulo 4, of
// the most there may be; windows longer than the signal.
const std::vector<std::pair<std::int64_t, int>> kShapes = {
    {1, 0},   {1, 8},   {2, 1},   {3, 64},   {31, 2},    {32, 3},   {33, 8},
    {255, 4}, {256, 8}, {257, 5}, {1021, 7}, {1023, 1},  {1024, 8}, {1025, 16},
    {100, 2}, {5, 4},   {3, 16},  {2047, 0}, {2049, 63}, {4096, 64}};

std::vector<bench::Variant<Window>> named(const std::string& name) {
  std::vector<bench::Variant<Window>> found;
  for (const auto& variant : window::ladder().variants) {
    if (variant.name == name) found.push_back(variant);
  }
  REQUIRE(found.size() == 1);
  return found;
}

#if SIMT_INSTRUMENTED
simt::KernelProfile counts(Window& problem, const std::string& name) {
  const auto variant = named(name)[0];
  simt::profile_reset();
  const auto verdict = tests::verify(problem, variant, bench::query_device(), nullptr);
  REQUIRE(verdict.status == bench::Status::right);
  const auto profile = simt::profile("window_" + name + "_kernel");
  simt::profile_stop();
  REQUIRE(profile.launches == 1);
  return profile;
}
#endif

}  // namespace

TEST_CASE("window: every variant is right for every length and radius") {
  std::vector<bench::Settings::Given> sizes;
  for (const auto& [n, radius] : kShapes) sizes.push_back({{"signal", n}, {"radius", radius}});
  // unrolled is compiled for a few radii and refuses the others; no other rung stands in.
  tests::every_variant_is_right(window::ladder(), sizes, [](const auto& name, const auto& size) {
    const std::set<std::int64_t> compiled = {1, 2, 4, 8, 16};
    return name == "unrolled" && compiled.count(size.at("radius")) == 0;
  });
}

TEST_CASE("window: the chooser says whom it took") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const kit::DeviceBuffer<float> x(101), y(101);
  CUDA_CHECK(cudaMemset(x.data(), 0, x.bytes()));
  CHECK(window_chosen(x.data(), y.data(), 100, 8, nullptr) == "unrolled");
  CHECK(window_chosen(x.data() + 1, y.data(), 100, 8, nullptr) == "four_outputs");
  CHECK(window_chosen(x.data(), y.data() + 1, 100, 8, nullptr) == "constant");
  CHECK(window_chosen(x.data(), y.data(), 100, 7, nullptr) == "four_outputs");
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("window: two problems do not use each other's constants") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const auto constant = named("constant")[0], four = named("four_outputs")[0];
  Window first(100, 3, 1), second(100, 3, 2);
  for (int turn = 0; turn < 2; ++turn) {
    for (Window* problem : {&first, &second}) {
      CHECK(tests::verify(*problem, constant, device, nullptr).status == bench::Status::right);
    }
    CHECK(tests::verify(first, four, device, nullptr).status == bench::Status::right);
  }
}

TEST_CASE("window: the bound lets rounding pass and a missing tap not") {
  Window problem(1000, 8, 3);
  problem.each_array([](auto& array) { array.reset(bench::Side::host); });
  window_sequential(problem.x.host_data(), problem.weights.host_data(), problem.y.host_data(), 1000,
                    8);
  problem.each_array([](auto& array) { array.fetch(bench::Side::host); });
  CHECK(problem.check().right());
  float* weights = problem.weights.host_data();
  weights[16] = 0;
  window_sequential(problem.x.host_data(), weights, problem.y.host_data(), 1000, 8);
  CHECK_FALSE(problem.check().right());
}

TEST_CASE("window: what moves float4 refuses a pointer that is not aligned, whichever it is") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr std::int64_t n = 500;
  constexpr int kRadius = 4;
  Window problem(n, kRadius, 3);
  problem.each_array([](auto& array) { array.reset(bench::Side::device); });
  use_weights_of(problem, nullptr);
  const kit::DeviceBuffer<float> d_x(n + 1), d_y(n + 1);
  CUDA_CHECK(
      cudaMemcpy(d_x.data() + 1, problem.x.pristine(), n * sizeof(float), cudaMemcpyHostToDevice));
  const float* x = problem.x.device_data();
  CHECK_THROWS_AS(window_four_outputs(x, d_y.data() + 1, n, kRadius, nullptr), kit::Skip);
  CHECK_THROWS_AS(window_unrolled(x, d_y.data() + 1, n, kRadius, nullptr), kit::Skip);
  CHECK_THROWS_AS(window_unrolled(d_x.data() + 1, d_y.data(), n, kRadius, nullptr), kit::Skip);
  // Loads of 4 bytes may begin anywhere.
  window_four_outputs(d_x.data() + 1, problem.y.device_data(), n, kRadius, nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  problem.each_array([](auto& array) { array.fetch(bench::Side::device); });
  CHECK(problem.check().right());
}

TEST_CASE("window: loads from global memory, one rung after the other") {
#if SIMT_INSTRUMENTED
  constexpr int kRadius = 8, kTaps = 2 * kRadius + 1;
  constexpr std::int64_t n = 4096;
  Window problem(n, kRadius, 5);
  // From global memory every thread loads a weight and an input per tap, but for the taps beyond
  // the ends.
  const double beyond = kRadius * (kRadius + 1.0) / n;
  for (const char* name : {"global", "read_only"}) {
    INFO(name);
    CHECK(std::abs(counts(problem, name).reads_per_thread() - 2 * (kTaps - beyond)) < 1e-9);
  }
  // With the tile in shared memory a block of 256 threads loads 256 + 2 radius inputs; the ends of
  // the signal have no halo.
  const double tile = (n + (n / 256 - 1) * 2.0 * kRadius) / n;
  CHECK(std::abs(counts(problem, "shared").reads_per_thread() - (kTaps + tile)) < 1e-9);
  // Constant memory has a path of its own: what is left are the inputs.
  CHECK(std::abs(counts(problem, "constant").reads_per_thread() - tile) < 1e-9);
  // As float4, and one instead of four: each is a load.
  const double vectors = (n / 4 + (n / 1024 - 1) * 2.0 * kRadius / 4) / (n / 4);
  CHECK(std::abs(counts(problem, "unrolled").reads_per_thread() - vectors) < 1e-9);
  // Four outputs a thread: a quarter of the shared loads for 16 times the products each.
  const auto one = counts(problem, "constant").shared,
             four = counts(problem, "four_outputs").shared;
  CHECK(one.load_requests == kTaps * n / 32);
  CHECK(four.load_requests == (1 + (kTaps + 3) / 4) * n / 4 / 32);
  for (const char* name : {"shared", "constant", "constant_by_lane", "four_outputs", "unrolled"}) {
    INFO(name);
    CHECK(counts(problem, name).shared.load_max_degree == 1);
  }
#else
  SKIP_TEST("counters need simt");
#endif
}

TEST_CASE("window: lanes that begin at their own taps read that many constants, and few inputs") {
  for (const int taps : {1, 3, 17, 31, 33, 129}) {
    INFO(taps << " taps");
    std::set<int> constants, inputs;
    for (int lane = 0; lane < 32; ++lane) {
      const int tap = window_first_tap(lane, taps);
      CHECK(tap >= 0);
      CHECK(tap < taps);
      constants.insert(tap);
      inputs.insert(lane + tap);
    }
    CHECK(static_cast<int>(constants.size()) == std::min(32, taps));
    CHECK(static_cast<int>(inputs.size()) == (31 + taps - 1) / taps + 1);
  }
}
