// Chapter 04, fp32: every variant is right at every size, the bound of the error catches what it
// should, and memory is used as often as the lesson predicts.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "04_matmul/roofline.cuh"
#include "04_matmul/sgemm/sweeps.cuh"
#include "04_matmul/sgemm/variants.cuh"
#include "common/harness.cuh"
#include "tests/catch.hpp"

#if __has_include("simt/profile.h")
#include "simt/profile.h"
#endif

namespace {

// One, a warp, and the tiles of all rungs (32, 64, 128, 256) each more and less by one; primes;
// tall, wide and deep; sums of one product.
const std::vector<Shape> kShapes = {
    {1, 1, 1},      {2, 2, 2},      {3, 3, 3},      {4, 4, 4},      {31, 31, 31},    {32, 32, 32},
    {33, 33, 33},   {63, 65, 7},    {64, 64, 8},    {65, 63, 9},    {127, 127, 15},  {128, 128, 16},
    {129, 129, 17}, {127, 255, 31}, {128, 256, 32}, {129, 257, 33}, {101, 103, 107}, {997, 2, 3},
    {2, 997, 5},    {3, 5, 997},    {1, 300, 1},    {300, 1, 1},    {1, 1, 2000},    {64, 68, 500},
    {260, 264, 4},  {5, 1024, 24}};

#ifdef SIMT_INSTRUMENTED
const common::Variant<Sgemm>* variant_named(const std::vector<common::Variant<Sgemm>>& variants,
                                            const std::string& name) {
  for (const auto& variant : variants) {
    if (variant.name == name) return &variant;
  }
  return nullptr;
}
#endif

// Rounded to the 11 significant bits of TF32.
float as_tf32(float x) {
  int exponent = 0;
  const float part = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(part, 11)), exponent - 11);
}

bool times_are_real() { return common::query_device().keeps_time(); }

// Runs launch(a, b, c) on fresh arrays on the device and brings them back.
template <class Launch>
void run_on_device(Sgemm& problem, Launch launch) {
  problem.each_array([](auto& array) { array.reset(common::Side::device); });
  launch(problem.device_a(), problem.device_b(), problem.c.on_device());
  CUDA_CHECK(cudaDeviceSynchronize());
  problem.each_array([](auto& array) { array.fetch(common::Side::device); });
}

// The tiles that fill no round of so many blocks are shared by all of them.
template <class T>
Shares share_rest(Shape shape, int blocks) {
  const int tiles = tiles_of<T::kRows, T::kCols>(shape.m, shape.n), left = tiles % blocks;
  const int turns = divide_up(shape.k, T::kDepth);
  return {tiles - left, blocks, turns, std::int64_t{left} * turns};
}

}  // namespace

TEST_CASE("every variant is right at every size") {
  const common::DeviceFacts device = common::query_device();
  const common::WorkStream stream(device);
  std::vector<Shape> shapes = kShapes;
  shapes.push_back(times_are_real() ? Shape{1031, 2053, 1021} : Shape{257, 521, 131});
  for (const auto& variant : sgemm_variants()) {
    DYNAMIC_SECTION(variant.name) {
      const std::string reason = common::why_skipped(variant, device);
      if (!reason.empty()) SKIP_TEST(reason);
      for (const Shape& shape : shapes) {
        INFO("m = " << shape.m << ", n = " << shape.n << ", k = " << shape.k);
        // It fills a chip with multiply-adds whatever the shape: on a model GPU two shapes will do.
        const bool ends = &shape == &shapes.front() || &shape == &shapes.back();
        if (variant.name == "multiply_add" && !times_are_real() && !ends) continue;
        Sgemm problem(shape, 7, times_are_real());
        const auto verdict = common::verify(problem, variant, device, stream.get());
        INFO(verdict.reason);
        REQUIRE(verdict.status == common::Status::right);
      }
    }
  }
}

TEST_CASE("every way to split a sum is right") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  for (const Shape shape : {Shape{65, 66, 1}, Shape{64, 64, 64}, Shape{130, 260, 515}}) {
    for (const int parts : {1, 2, 3, 7}) {
      INFO("m = " << shape.m << ", k = " << shape.k << ", parts = " << parts);
      Sgemm problem(shape, 3, times_are_real());
      const auto check = [&](auto tiling) {
        run_on_device(problem, [&](const float* a, const float* b, float* c) {
          launch_split_sum<decltype(tiling)>(a, b, c, shape.m, shape.n, shape.k, parts, nullptr);
        });
        CHECK(problem.check().right());
        CHECK(problem.c.damage().empty());
      };
      check(LargeTiling{});
      check(SmallTiling{});
      check(TinyTiling{});
    }
  }
}

TEST_CASE("shares of the last round cover every turn once, and evenly") {
  const Shares cube = share_out<LargeTiling>(4096, 4096, 4096, 132);
  CHECK(cube.whole == 3 * 132);
  CHECK(cube.parts == 132);
  CHECK(cube.to_share == 116 * 256);
  CHECK(share_out<LargeTiling>(128 * 132, 256, 4096, 132).parts == 0);  // nothing is left
  CHECK(share_out<LargeTiling>(128 * 133, 256, 64, 132).parts == 0);    // sums too short
  CHECK(share_out<LargeTiling>(2048, 2048, 2048, 132).parts == 0);      // not one full round
  CHECK(share_out<LargeTiling>(128 * 133, 256, 4096, 132).whole == 132);
  for (const Shares shares :
       {cube, Shares{0, 7, 3, 2 * 3}, Shares{4, 3, 5, 5}, Shares{2, 5, 1000003, 4ll * 1000003}}) {
    CHECK(shares.begin(0) == 0);
    CHECK(shares.begin(shares.parts) == shares.to_share);
    for (int part = 0; part < shares.parts; ++part) {
      const std::int64_t turns = shares.begin(part + 1) - shares.begin(part);
      REQUIRE(turns >= shares.to_share / shares.parts);
      REQUIRE(turns <= shares.to_share / shares.parts + 1);
    }
  }
}

TEST_CASE("every way to share the last round is right") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  const auto check = [](auto tiling, Shape shape, int multiprocessors) {
    using T = decltype(tiling);
    INFO("m = " << shape.m << ", n = " << shape.n << ", k = " << shape.k
                << ", multiprocessors = " << multiprocessors);
    const Shares shares = share_rest<T>(shape, multiprocessors);
    Sgemm problem(shape, 3, times_are_real());
    run_on_device(problem, [&](const float* a, const float* b, float* c) {
      launch_shared_round<T>(a, b, c, shape.m, shape.n, shape.k, shares, nullptr);
    });
    CHECK(problem.check().right());
    CHECK(problem.c.damage().empty());
  };
  for (const int multiprocessors : {1, 2, 3, 7}) {
    check(TinyTiling{}, {65, 66, 1}, multiprocessors);
    check(TinyTiling{}, {130, 260, 515}, multiprocessors);
    check(TinyTiling{}, {600, 72, 100}, multiprocessors);  // more than one band
    check(SmallTiling{}, {130, 260, 116}, multiprocessors);
    check(LargeTiling{}, {260, 516, 100}, multiprocessors);
  }
}

TEST_CASE("copying and multiplying warps keep in step, whatever a block has to do") {
  const common::DeviceFacts device = common::query_device();
  const std::string reason = common::why_skipped(
      sgemm_rung("", "", sgemm_copy_warps, common::needs_exactly_sm(90)), device);
  if (!reason.empty()) SKIP_TEST(reason);
  const auto multiply = [](Sgemm& problem, int blocks) {
    const Shape shape = problem.shape;
    Shares shares = share_rest<CopyWarps>(shape, blocks);
    if (shares.to_share == 0) shares.parts = 0;
    run_on_device(problem, [&](const float* a, const float* b, float* c) {
      launch_copy_warps(a, b, c, shape.m, shape.n, shape.k, shares, blocks, nullptr);
    });
  };
  // Sums of less than a turn, of as many turns as the ring has stages and one more or less, and
  // long ones; tiles cut off on both sides; shares of several tiles, of parts of one, and of none.
  for (const std::int64_t k : {4, 16, 20, 64, 80, 96, 1000}) {
    for (const Shape shape : {Shape{1, 4, k}, Shape{128, 256, k}, Shape{129, 260, k},
                              Shape{1100, 516, k}, Shape{383, 1024, k}}) {
      Sgemm problem(shape, 3);
      for (const int blocks : {1, 2, 3, 7, 30}) {
        INFO("m = " << shape.m << ", n = " << shape.n << ", k = " << shape.k
                    << ", blocks = " << blocks);
        multiply(problem, blocks);
        REQUIRE(problem.check().right());
        REQUIRE(problem.c.damage().empty());
      }
    }
  }
  Sgemm problem({1100, 516, 260}, 5);
  for (int i = 0; i < 100; ++i) {
    multiply(problem, 7);
    REQUIRE(problem.check().right());
  }
}

TEST_CASE("vector rungs take matrices that begin anywhere") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  using Multiply = void (*)(const float*, const float*, float*, int, int, int, cudaStream_t);
  const Shape shape{36, 40, 44};  // rows of whole float4, but not from an odd address
  const common::DeviceBuffer<float> a(36 * 44 + 1), b(44 * 40 + 1), c(36 * 40 + 1);
  Sgemm problem(shape, 5, times_are_real());
  CUDA_CHECK(cudaMemcpy(a.data() + 1, problem.a.pristine(), sizeof(float) * problem.a.size(),
                        cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(b.data() + 1, problem.b.pristine(), sizeof(float) * problem.b.size(),
                        cudaMemcpyHostToDevice));
  for (const Multiply multiply :
       {Multiply{sgemm_vectorized}, Multiply{sgemm_warp_tile}, Multiply{sgemm_async_copy},
        Multiply{sgemm_tuned}, Multiply{sgemm_split_sum}, Multiply{sgemm_shared_round},
        Multiply{sgemm_copy_warps}}) {
    multiply(a.data() + 1, b.data() + 1, c.data() + 1, 36, 40, 44, nullptr);
    problem.c.reset(common::Side::host);
    CUDA_CHECK(cudaMemcpy(problem.c.on_host(), c.data() + 1, sizeof(float) * problem.c.size(),
                          cudaMemcpyDeviceToHost));
    CHECK(problem.check().right());
  }
}

TEST_CASE("launches take sets of inputs in turn, which differ in nothing but their place") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  Sgemm problem({5, 7, 3}, 1);
  common::verify(problem, sgemm_rung("coalesced", "", sgemm_coalesced), common::query_device(),
                 nullptr);
  std::vector<const float*> places;
  for (const int set : {0, 1, 2, 63}) {
    problem.rotate(set);
    for (const float* place : places) CHECK(problem.device_a() != place);
    places.push_back(problem.device_a());
    std::vector<float> a(problem.a.size()), b(problem.b.size());
    CUDA_CHECK(cudaMemcpy(a.data(), problem.device_a(), 4 * a.size(), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(b.data(), problem.device_b(), 4 * b.size(), cudaMemcpyDeviceToHost));
    CHECK(std::equal(a.begin(), a.end(), problem.a.pristine()));
    CHECK(std::equal(b.begin(), b.end(), problem.b.pristine()));
  }
  problem.rotate(64 + 1);  // 64 sets are the most
  CHECK(problem.device_a() == places[1]);
}

TEST_CASE("the bound of the error lets rounding pass and nothing else") {
  for (const std::int64_t k : {1, 2, 7, 64, 1000, 4096}) {
    DYNAMIC_SECTION("k = " << k) {
      Sgemm problem({16, 24, k}, 11);
      for (auto& variant : sgemm_variants()) {
        if (variant.name != "sequential") continue;
        REQUIRE(common::verify(problem, variant, {}, nullptr).status == common::Status::right);
      }
      float* c = problem.c.on_host();
      const std::vector<float> right(c, c + problem.c.size());
      const auto restore = [&] { std::copy(right.begin(), right.end(), c); };

      for (std::int64_t i = 0; i < problem.c.size(); ++i) {  // the last product is missing
        const std::int64_t row = i / 24, col = i % 24;
        c[i] -= problem.a.pristine()[row * k + k - 1] * problem.b.pristine()[(k - 1) * 24 + col];
      }
      CHECK(problem.check().wrong > problem.c.size() * 3 / 4);
      restore();
      CHECK(problem.check().right());
      c[77] = std::nanf("");
      CHECK(problem.check().wrong == 1);
      CHECK(problem.check().first_wrong == 77);
      restore();

      for (std::int64_t i = 0; i < problem.c.size(); ++i) {
        double sum = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          sum += 1.0 * as_tf32(problem.a.pristine()[i / 24 * k + p]) *
                 as_tf32(problem.b.pristine()[p * 24 + i % 24]);
        }
        c[i] = static_cast<float>(sum);
      }
      CHECK(!problem.check().right());
      CHECK(problem.check_tf32().right());
    }
  }
}

TEST_CASE("the bound grows with k") {
  double before = 0;
  for (const std::int64_t k : {1, 4, 16, 64, 256, 1024, 4096}) {
    Sgemm problem({2, 2, k}, 3);
    const double bound = problem.bound(0, 0);
    CHECK(bound > before);
    CHECK(bound < 6e-6 * k);
    before = bound;
  }
}

TEST_CASE("intensity and roof as in the lesson") {
  const Shape cube{8192, 8192, 8192}, flat{8192, 8192, 128};
  CHECK(std::fabs(cube.intensity() - 8192 / 6.0) < 1e-9);
  CHECK(std::fabs(cube.intensity(2) - 2730.67) < 0.01);
  CHECK(std::fabs(flat.intensity(2) - 124.12) < 0.01);
  CHECK(std::fabs(flat.intensity() - 62.06) < 0.01);
  common::DeviceFacts device;
  CHECK(fp32_roof(device).ridge() == 0);
  device.peak_bandwidth_gbps = 4800;
  device.peak_fp32_gflops = 67200;
  CHECK(fp32_roof(device).ridge() == 14);
  CHECK(fp32_roof(device).at(7) == 33600);
  CHECK(fp32_roof(device).at(28) == 67200);
}

TEST_CASE("the tile is chosen by size") {
  CHECK(plan_split_sum(4096, 4096, 4096, 132).tiling == Plan::kLarge);
  CHECK(plan_split_sum(8192, 8192, 8192, 132).parts == 1);
  CHECK(plan_split_sum(1024, 1024, 1024, 132).tiling == Plan::kSmall);
  CHECK(plan_split_sum(1024, 1024, 1024, 132).parts == 1);
  const Plan deep = plan_split_sum(64, 64, 1 << 20, 132);
  CHECK(deep.tiling == Plan::kTiny);
  CHECK(deep.parts == 4 * 132);
  CHECK(plan_split_sum(64, 64, 64, 132).parts == 1);
  CHECK(plan_split_sum(1, 1, 1, 132).parts == 1);
}

TEST_CASE("slow rungs refuse sizes that take minutes, and --slow lifts that") {
  Sgemm problem({1, 1, 1}, 1);
  problem.shape = {8192, 8192, 8192};
  CHECK_THROWS_AS(refuse_more_than(kMostSequential, problem), common::Skip);
  problem.lift_limits = true;
  refuse_more_than(kMostSequential, problem);
  problem.lift_limits = false;
  problem.shape = {4096, 4096, 4096};
  refuse_more_than(kMostSequential, problem);  // the default size defines "x seq."
  CHECK(problem.flops() == kMostSequential);
}

TEST_CASE("global and shared loads are as many as the tiles predict") {
#ifndef SIMT_INSTRUMENTED
  SKIP_TEST("counters need simt");
#else
  const Shape shape{256, 256, 64};  // whole tiles of every rung
  for (const Reuse& reuse : sgemm_reuse()) {
    DYNAMIC_SECTION(reuse.variant) {
      Sgemm problem(shape, 1, false);
      const auto variants = sgemm_variants();
      simt::profile_reset();
      const auto verdict = common::verify(problem, *variant_named(variants, reuse.variant),
                                          common::query_device(), nullptr);
      REQUIRE(verdict.status == common::Status::right);
      const auto counts = simt::profile("sgemm_" + reuse.variant + "_kernel");
      double global = 0, shared = 0;
      for (const auto& site : counts.sites) {
        const double floats = static_cast<double>(site.lanes) * site.size / sizeof(float);
        if (site.kind == "global load") global += floats;
        if (site.kind == "shared load") shared += floats;
      }
      CHECK(global == reuse.global_loads(shape));
      // The tuned rung loads one step's operands more than it uses, at the very end.
      const double extra = reuse.variant == "tuned" ? 1.0 / shape.k : 0;
      CHECK(shared <= reuse.shared_loads(shape) * (1 + extra));
      CHECK(shared >= reuse.shared_loads(shape));
    }
  }
#endif
}

TEST_CASE("sectors and bank conflicts that the lesson claims, counted") {
#ifndef SIMT_INSTRUMENTED
  SKIP_TEST("counters need simt");
#else
  struct Claim {
    const char* variant;
    double load_sectors, store_sectors;  // of global memory, per request; 0: not claimed
    double shared_load_conflict;
  };
  for (const Claim claim :
       {Claim{"naive", 16.5, 32, 0}, Claim{"coalesced", 2.5, 4, 0}, Claim{"tiled", 4, 4, 1},
        Claim{"register_tile", 0, 0, 3}, Claim{"vectorized", 0, 0, 1.5},
        Claim{"warp_tile", 0, 16, 1}, Claim{"async_copy", 0, 16, 1}, Claim{"tuned", 0, 16, 1}}) {
    DYNAMIC_SECTION(claim.variant) {
      Sgemm problem({256, 256, 64}, 1, false);
      const auto variants = sgemm_variants();
      simt::profile_reset();
      const auto verdict = common::verify(problem, *variant_named(variants, claim.variant),
                                          common::query_device(), nullptr);
      REQUIRE(verdict.status == common::Status::right);
      const auto counts = simt::profile("sgemm_" + std::string(claim.variant) + "_kernel");
      if (claim.load_sectors > 0) {
        CHECK(counts.global.load_sectors_per_request() == claim.load_sectors);
      }
      if (claim.store_sectors > 0) {
        CHECK(counts.global.store_sectors_per_request() == claim.store_sectors);
      }
      if (claim.shared_load_conflict > 0) {
        CHECK(counts.shared.load_conflict_degree() == claim.shared_load_conflict);
      }
    }
  }
#endif
}
