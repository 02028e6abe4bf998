// Chapter 04, fp32: every variant is right at every size, the bound of the error catches what it
// should, and memory is used as often as the lesson predicts.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "04_matmul/sgemm/chosen.cuh"
#include "04_matmul/sgemm/ladder.cu"
#include "04_matmul/study/roofline.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/verify.hpp"

#if __has_include("simt/profile.h")
#include "simt/profile.h"
#endif

using namespace matmul;
using namespace matmul::sgemm;

namespace {

bool is_real_gpu() { return bench::query_device().is_real_gpu(); }

// One, a warp, and the tiles of all rungs (32, 64, 128, 256) each more and less by one; primes;
// tall, wide and deep; sums of one product.
std::vector<Shape> shapes() {
  std::vector<Shape> shapes = {{1, 1, 1},       {2, 2, 2},      {3, 3, 3},      {4, 4, 4},
                               {31, 31, 31},    {32, 32, 32},   {33, 33, 33},   {63, 65, 7},
                               {64, 64, 8},     {65, 63, 9},    {127, 127, 15}, {128, 128, 16},
                               {129, 129, 17},  {127, 255, 31}, {128, 256, 32}, {129, 257, 33},
                               {101, 103, 107}, {997, 2, 3},    {2, 997, 5},    {3, 5, 997},
                               {1, 300, 1},     {300, 1, 1},    {1, 1, 2000},   {64, 68, 500},
                               {1030, 520, 4},  {5, 1024, 24}};
  // Large ones, whose rows begin at multiples of 16 bytes and not.
  for (const std::int64_t odd : {0, 1}) {
    shapes.push_back(is_real_gpu() ? Shape{1028 + odd, 2052 + odd, 1020 + odd}
                                   : Shape{132 + odd, 260 + odd, 128 + odd});
  }
  return shapes;
}

// The ladder with only those of its variants.
template <class Wanted>
bench::Ladder<Sgemm> ladder_of(Wanted wanted) {
  bench::Ladder<Sgemm> some = ladder();
  some.variants.clear();
  for (const auto& variant : variants()) {
    if (wanted(variant)) some.variants.push_back(variant);
  }
  return some;
}
bench::Variant<Sgemm> variant_named(const std::string& name) {
  return ladder_of([&](const auto& variant) { return variant.name == name; }).variants.at(0);
}

// Rounded to the 11 significant bits of TF32.
float as_tf32(float x) {
  int exponent = 0;
  const float part = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(part, 11)), exponent - 11);
}

// Runs launch(a, b, c) on fresh arrays on the device and brings them back.
template <class Launch>
void run_on_device(Sgemm& problem, Launch launch) {
  problem.each_array([](auto& array) { array.reset(bench::Side::device); });
  launch(problem.device_a(), problem.device_b(), problem.c.device_data());
  CUDA_CHECK(cudaDeviceSynchronize());
  problem.each_array([](auto& array) { array.fetch(bench::Side::device); });
}

// The tiles that fill no wave of so many blocks are shared by all of them.
template <class T>
StreamKPlan share_rest(Shape shape, int blocks) {
  const int tiles = tile_count<T::kTileM, T::kTileN>(shape.m, shape.n), left = tiles % blocks;
  const int k_tiles = divide_up(shape.k, T::kTileK);
  return {tiles - left, blocks, k_tiles, std::int64_t{left} * k_tiles};
}

}  // namespace

TEST_CASE("every variant is right at every size") {
  // The yardstick fills a chip with multiply-adds whatever the shape: two shapes will do.
  const auto is_yardstick = [](const auto& variant) { return variant.name == "multiply_add"; };
  std::vector<bench::Settings::Given> sizes;
  for (const Shape& shape : shapes())
    sizes.push_back({{"m", shape.m}, {"n", shape.n}, {"k", shape.k}});
  tests::every_variant_is_right(
      ladder_of([&](const auto& variant) { return !is_yardstick(variant); }), sizes,
      [](const std::string& name, const bench::Settings::Given& size) {  // TMA: rows of 16 bytes
        return name == "warp_specialized" && (size.at("n") % 4 != 0 || size.at("k") % 4 != 0);
      });
  tests::every_variant_is_right(ladder_of(is_yardstick), {sizes.front(), sizes.back()});
}

// Large matrices, which take the checks of no variant minutes: none runs.
TEST_CASE("what a run holds", "[.]") {
  const auto nobody = ladder_of([](const auto&) { return false; });
  tests::takes_what_it_says(nobody, {{"m", 1}, {"n", 2}, {"k", 500'000}});
}

TEST_CASE("a run takes the memory that it says") {
  tests::passes_by_itself("SIMT_THREADS=1", "what a run holds");
}

TEST_CASE("every launch is in the stream that was given") {
  tests::every_launch_is_in_its_stream(ladder_of([](const auto&) { return true; }),
                                       {{"m", 100}, {"n", 72}, {"k", 200}});
}

TEST_CASE("every way to split a sum over k is right") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  for (const Shape shape : {Shape{65, 66, 1}, Shape{64, 64, 64}, Shape{130, 260, 515}}) {
    for (const int parts : {1, 2, 3, 7}) {
      INFO("m = " << shape.m << ", k = " << shape.k << ", parts = " << parts);
      Sgemm problem(shape, 3, is_real_gpu());
      const auto check = [&](auto tile) {
        run_on_device(problem, [&](const float* a, const float* b, float* c) {
          launch_split_k<decltype(tile)>(a, b, c, shape.m, shape.n, shape.k, parts, nullptr);
        });
        CHECK(problem.check().right());
        CHECK(problem.c.damage() == "");
      };
      check(LargeTile{});
      check(SmallTile{});
      check(TinyTile{});
    }
  }
}

TEST_CASE("parts of the last wave cover every k tile once, and evenly") {
  const StreamKPlan cube = plan_stream_k<LargeTile>(4096, 4096, 4096, 132);
  CHECK(cube.whole == 3 * 132);
  CHECK(cube.parts == 132);
  CHECK(cube.shared == 116 * 256);
  CHECK(plan_stream_k<LargeTile>(128 * 132, 256, 4096, 132).parts == 0);  // nothing is left
  CHECK(plan_stream_k<LargeTile>(128 * 133, 256, 64, 132).parts == 0);    // sums too short
  CHECK(plan_stream_k<LargeTile>(2048, 2048, 2048, 132).parts == 0);      // too few SMs idle
  CHECK(plan_stream_k<LargeTile>(128 * 133, 256, 4096, 132).whole == 132);
  const StreamKPlan small = plan_stream_k<LargeTile>(1024, 1024, 1024, 132);  // less than a wave
  CHECK(small.whole == 0);
  CHECK(small.shared == 32 * 64);
  for (const StreamKPlan plan : {cube, small, StreamKPlan{0, 7, 3, 2 * 3}, StreamKPlan{4, 3, 5, 5},
                                 StreamKPlan{2, 5, 1000003, 4ll * 1000003}}) {
    CHECK(plan.begin(0) == 0);
    CHECK(plan.begin(plan.parts) == plan.shared);
    for (int part = 0; part < plan.parts; ++part) {
      const std::int64_t k_tiles = plan.begin(part + 1) - plan.begin(part);
      REQUIRE(k_tiles >= plan.shared / plan.parts);
      REQUIRE(k_tiles <= plan.shared / plan.parts + 1);
    }
  }
}

TEST_CASE("every way to share the last wave is right") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const auto check = [](auto tile, Shape shape, int multiprocessors) {
    using T = decltype(tile);
    INFO("m = " << shape.m << ", n = " << shape.n << ", k = " << shape.k
                << ", multiprocessors = " << multiprocessors);
    const StreamKPlan plan = share_rest<T>(shape, multiprocessors);
    Sgemm problem(shape, 3, is_real_gpu());
    run_on_device(problem, [&](const float* a, const float* b, float* c) {
      launch_stream_k<T>(a, b, c, shape.m, shape.n, shape.k, plan, nullptr);
    });
    CHECK(problem.check().right());
    CHECK(problem.c.damage() == "");
  };
  for (const int multiprocessors : {1, 2, 3, 7}) {
    check(TinyTile{}, {65, 66, 1}, multiprocessors);
    check(TinyTile{}, {130, 260, 515}, multiprocessors);
    check(TinyTile{}, {600, 72, 100}, multiprocessors);  // more than one group
    check(SmallTile{}, {130, 260, 116}, multiprocessors);
    check(LargeTile{}, {260, 516, 100}, multiprocessors);
  }
}

// Why warp_specialized cannot run here, or nothing.
std::string why_not_specialized() {
  return bench::why_skipped(sgemm_rung("", "", sgemm_warp_specialized, bench::needs_exactly_sm(90)),
                            bench::query_device());
}

TEST_CASE("producers and consumers keep in step, whatever a block has to do") {
  const std::string reason = why_not_specialized();
  if (!reason.empty()) SKIP_TEST(reason);
  const auto multiply = [](Sgemm& problem, int blocks) {
    const Shape shape = problem.shape;
    StreamKPlan plan = share_rest<SpecializedTile>(shape, blocks);
    if (plan.shared == 0) plan.parts = 0;
    run_on_device(problem, [&](const float* a, const float* b, float* c) {
      const RowsOfB rows = {static_cast<int>(shape.k), static_cast<int>(shape.n)};
      launch_warp_specialized(a, b, c, shape.m, shape.n, shape.k, rows, plan, blocks, nullptr);
    });
  };
  // k of less than a k tile, of as many as the ring has stages and one more or less, and long ones;
  // tiles cut off on both sides; parts of several tiles, of one, and of none.
  // A model GPU takes seconds for what a GPU does in microseconds: few of them there.
  const bool real = is_real_gpu();
  const std::vector<std::int64_t> lengths =
      real ? std::vector<std::int64_t>{4, 16, 20, 64, 80, 96, 1000}
           : std::vector<std::int64_t>{20, 96};
  for (const std::int64_t k : lengths) {
    std::vector<Shape> shapes = {{1, 4, k}, {129, 260, k}};
    if (real) shapes.insert(shapes.end(), {{128, 256, k}, {1100, 516, k}, {383, 1024, k}});
    for (const Shape& shape : shapes) {
      Sgemm problem(shape, 3, real);
      for (const int blocks : real ? std::vector<int>{1, 2, 3, 7, 30} : std::vector<int>{1, 3}) {
        INFO("m = " << shape.m << ", n = " << shape.n << ", k = " << shape.k
                    << ", blocks = " << blocks);
        multiply(problem, blocks);
        REQUIRE(problem.check().right());
        REQUIRE(problem.c.damage() == "");
      }
    }
  }
  Sgemm problem(real ? Shape{1100, 516, 260} : Shape{129, 260, 100}, 5, real);
  for (int i = 0; i < (real ? 100 : 2); ++i) {
    multiply(problem, 7);
    REQUIRE(problem.check().right());
  }
}

TEST_CASE(
    "rungs with 16-byte accesses take matrices that begin anywhere, or say that they do not") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const Shape shape{36, 40, 44};  // rows of whole float4, but not from an odd address
  Sgemm problem(shape, 5, is_real_gpu());
  const kit::DeviceBuffer<float> a(36 * 44 + 4), b(44 * 40 + 4), c(36 * 40 + 4);
  // Each matrix at an odd address alone, then all, then none.
  for (const int odd : {1, 2, 4, 7, 0}) {
    float* const at_a = a.data() + (odd & 1);
    float* const at_b = b.data() + (odd >> 1 & 1);
    float* const at_c = c.data() + (odd >> 2 & 1);
    CUDA_CHECK(cudaMemcpy(at_a, problem.a.pristine(), sizeof(float) * problem.a.size(),
                          cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(at_b, problem.b.pristine(), sizeof(float) * problem.b.size(),
                          cudaMemcpyHostToDevice));
    const auto check = [&](auto multiply) {
      INFO("odd addresses (1: A, 2: B, 4: C): " << odd);
      CUDA_CHECK(cudaMemset(c.data(), 0xff, sizeof(float) * (36 * 40 + 4)));  // NaN
      multiply(at_a, at_b, at_c, 36, 40, 44, nullptr);
      problem.c.reset(bench::Side::host);
      CUDA_CHECK(cudaMemcpy(problem.c.host_data(), at_c, sizeof(float) * problem.c.size(),
                            cudaMemcpyDeviceToHost));
      CHECK(problem.check().right());
    };
    for (const auto multiply :
         {sgemm_vectorized, sgemm_warp_tile, sgemm_async_copy, sgemm_large_tile,
          sgemm_register_double_buffer, sgemm_multistage, sgemm_grouped_tiles, sgemm_tile_by_size,
          sgemm_split_k, sgemm_stream_k}) {
      check(multiply);
    }
    // This one takes a C that begins anywhere, but no such A or B.
    if ((odd & 3) != 0) {
      CHECK_THROWS_AS(sgemm_warp_specialized(at_a, at_b, at_c, 36, 40, 44, nullptr), kit::Skip);
    } else if (why_not_specialized().empty()) {
      check(sgemm_warp_specialized);
    }
  }
  // And rows that are no multiple of 16 bytes long.
  CHECK_THROWS_AS(sgemm_warp_specialized(a.data(), b.data(), c.data(), 36, 40, 43, nullptr),
                  kit::Skip);
  CHECK_THROWS_AS(sgemm_warp_specialized(a.data(), b.data(), c.data(), 36, 39, 44, nullptr),
                  kit::Skip);
}

TEST_CASE("launches take sets of inputs in turn, which differ in nothing but their place") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  Sgemm problem({5, 7, 3}, 1);
  tests::verify(problem, sgemm_rung("coalesced", "", sgemm_coalesced), bench::query_device(),
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
      REQUIRE(tests::verify(problem, variant_named("sequential"), {}, nullptr).status ==
              bench::Status::right);
      float* c = problem.c.host_data();
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

TEST_CASE("intensity, ridge and bound as in the lesson") {
  const Shape cube{8192, 8192, 8192}, flat{8192, 8192, 128};
  CHECK(std::fabs(cube.intensity() - 8192 / 6.0) < 1e-9);
  CHECK(std::fabs(cube.intensity(2) - 2730.67) < 0.01);
  CHECK(std::fabs(flat.intensity(2) - 124.12) < 0.01);
  CHECK(std::fabs(flat.intensity() - 62.06) < 0.01);
  bench::DeviceFacts device;
  CHECK(fp32_roof(device).ridge() == 0);
  device.peak_bandwidth_gbps = 4800;
  device.peak_fp32_gflops = 67200;
  CHECK(fp32_roof(device).ridge() == 14);
  CHECK(fp32_roof(device).at(7) == 33600);
  CHECK(fp32_roof(device).at(28) == 67200);
}

TEST_CASE("the tile is chosen by size, and short sums are not split") {
  CHECK(choose_tile_size(4096, 4096, 132) == TileSize::kLarge);
  CHECK(choose_tile_size(1024, 1024, 132) == TileSize::kSmall);
  CHECK(choose_tile_size(512, 512, 132) == TileSize::kTiny);
  CHECK(choose_split_k_parts(64, 64, 1 << 20, 132) == 4 * 132);
  CHECK(choose_split_k_parts(64, 64, 64, 132) == 1);
  CHECK(choose_split_k_parts(1, 1, 1, 132) == 1);
  CHECK(choose_split_k_parts(8192, 8192, 8192, 132) == 1);
}

TEST_CASE("the chooser takes the rung that is best there") {
  const auto taken = [](Shape shape, const Circumstances& at) {
    return std::string(choose(shape, at).name);
  };
  const Circumstances h200 = {132, true, true, true}, ragged = {132, true, true, false};
  const Circumstances ampere = {108, true, false, true}, turing = {40, false, false, true};
  for (const std::int64_t n : {128, 256, 512}) CHECK(taken({n, n, n}, h200) == "split_k");
  CHECK(taken({64, 64, 64}, h200) == "tile_by_size");
  CHECK(taken({128, 128, 65536}, h200) == "split_k");  // half of a large tile
  CHECK(taken({512, 512, 8192}, h200) == "warp_specialized");
  CHECK(taken({777, 1001, 513}, ragged) == "padded_copies");
  CHECK(taken({300, 300, 300}, ragged) == "split_k");
  CHECK(taken({3001, 3001, 8}, ragged) != "padded_copies");  // they would take longer
  for (const std::int64_t n : {1024, 2048, 3072, 4096, 8192}) {
    CHECK(taken({n, n, n}, h200) == "warp_specialized");
    CHECK(taken({n, n, n}, ragged) == "padded_copies");
    CHECK(taken({n, n, n}, turing) == "warp_tile");
  }
  CHECK(taken({4096, 4096, 4096}, ampere) == "stream_k");
  CHECK(taken({128 * 108, 256, 4096}, ampere) == "grouped_tiles");  // one full wave
}

TEST_CASE("only sizes above the default are too slow for the slow rungs") {
  const Shape standard{4096, 4096, 4096}, large{8192, 8192, 8192};
  for (const char* name : {"sequential", "naive"}) {
    const auto slow = variant_named(name);
    CHECK(slow.slow_above >= standard.flops());  // sequential defines "x seq" there
    CHECK(slow.slow_above < large.flops());
  }
  // A short look has it, too: a loop in fp32 is the first rung of the road.
  CHECK(variant_named("sequential").slow_above >= 2 * standard.flops());
  CHECK(variant_named("coalesced").slow_above > large.flops());
}

TEST_CASE("global and shared loads are as many as the tiles predict") {
#ifndef SIMT_INSTRUMENTED
  SKIP_TEST("counters need simt");
#else
  const Shape shape{256, 256, 64};  // whole tiles of every rung
  for (const Reuse& reuse : sgemm_reuse()) {
    DYNAMIC_SECTION(reuse.variant) {
      Sgemm problem(shape, 1, false);
      simt::profile_reset();
      const auto verdict =
          tests::verify(problem, variant_named(reuse.variant), bench::query_device(), nullptr);
      REQUIRE(verdict.status == bench::Status::right);
      const auto counts = simt::profile("sgemm_" + reuse.variant + "_kernel");
      double global = 0, shared = 0;
      for (const auto& site : counts.sites) {
        const double floats = static_cast<double>(site.lanes) * site.size / sizeof(float);
        if (site.kind == simt::AccessKind::kGlobalLoad) global += floats;
        if (site.kind == simt::AccessKind::kSharedLoad) shared += floats;
      }
      CHECK(global == reuse.global_loads(shape));
      // Who loads one k ahead loads operands for one k more than it uses, at the very end.
      const bool is_ahead = reuse.variant == "register_double_buffer" ||
                            reuse.variant == "multistage" || reuse.variant == "grouped_tiles";
      const double extra = is_ahead ? 1.0 / shape.k : 0;
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
        Claim{"warp_tile", 0, 16, 1}, Claim{"async_copy", 0, 16, 1}, Claim{"large_tile", 0, 16, 1},
        Claim{"multistage", 0, 16, 1}, Claim{"grouped_tiles", 0, 16, 1}}) {
    DYNAMIC_SECTION(claim.variant) {
      Sgemm problem({256, 256, 64}, 1, false);
      simt::profile_reset();
      const auto verdict =
          tests::verify(problem, variant_named(claim.variant), bench::query_device(), nullptr);
      REQUIRE(verdict.status == bench::Status::right);
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
