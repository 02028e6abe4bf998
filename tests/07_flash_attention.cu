// Chapter 07, attention: every variant is right for every shape, the bounds catch what they should,
// and memory is used as the lesson says. (Tensor cores: 07_flash_attention_tensor.cu.)
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "07_flash_attention/attention/ladder.cu"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "tests/07_flash_attention.hpp"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/verify.hpp"

#if __has_include("simt/profile.h")
#include "simt/profile.h"
#endif

using namespace attention;

namespace {

using tests::check_variant;
using tests::in_16_bits;
using tests::is_real_gpu;

// One query, one key; a warp, and the tiles of all rungs (32, 64, 128), each more and less by one;
// primes; more queries than keys, and fewer; several heads.
const std::vector<Shape> kShapes = {
    {1, 1, 1, 1, 64, false},     {1, 1, 2, 3, 64, false},    {1, 1, 1, 65, 64, false},
    {1, 1, 65, 1, 64, false},    {2, 3, 5, 7, 64, false},    {1, 2, 31, 33, 64, false},
    {1, 1, 32, 32, 64, false},   {1, 1, 33, 31, 64, false},  {1, 1, 63, 64, 64, false},
    {1, 1, 65, 63, 64, false},   {1, 1, 127, 65, 64, false}, {1, 1, 129, 129, 64, false},
    {1, 1, 37, 101, 128, false}, {1, 1, 65, 33, 128, false}, {1, 1, 33, 65, 256, false},
    {1, 1, 1, 1, 256, true},     {1, 1, 2, 2, 64, true},     {1, 2, 33, 33, 64, true},
    {1, 1, 64, 64, 64, true},    {1, 1, 129, 129, 64, true}, {1, 1, 1, 70, 64, true},
    {1, 2, 17, 97, 64, true},    {1, 1, 97, 17, 64, true},   {1, 1, 70, 1, 64, true},
    {1, 1, 65, 66, 128, true},   {1, 1, 35, 34, 256, true},  {2, 2, 64, 31, 64, true}};

void check_all_shapes(double spread, const std::vector<Shape>& shapes) {
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  for (const auto& variant : attention_ladder().variants) {
    DYNAMIC_SECTION(Fp32::name << "/" << variant.name) {
      const std::string reason = bench::why_skipped(variant, device);
      if (!reason.empty()) SKIP_SECTION(reason);
      int right = 0;
      for (const Shape& shape : shapes) {
        Fp32 problem(shape, 7, spread, is_real_gpu());
        right += check_variant(problem, variant, device, stream.get());
      }
      if (right == 0) SKIP_SECTION("needs more shared memory");
    }
  }
}

// A problem whose host results are those of the sequential rung.
template <class Problem>
void solve_on_host(Problem& problem) {
  const auto variants = attention_ladder().variants;
  REQUIRE(
      tests::verify(problem, tests::variant_named(variants, "sequential"), {}, nullptr).status ==
      bench::Status::right);
}

}  // namespace

TEST_CASE("attention: every variant is right for every shape, in fp32") {
  auto shapes = kShapes;
  if (is_real_gpu()) {
    shapes.insert(shapes.end(), {{2, 3, 1021, 1531, 128, false},
                                 {2, 3, 1021, 1531, 64, true},
                                 {1, 2, 1531, 1021, 256, true},
                                 {1, 70'000, 3, 5, 64, false}});
  }
  check_all_shapes(1, shapes);
}

TEST_CASE("attention: every launch is in the stream that was given") {
  tests::every_launch_is_in_its_stream(
      attention_ladder(), {{"batch", 1}, {"heads", 2}, {"n", 65}, {"nk", 66}, {"causal", 1}});
}

TEST_CASE("attention: scores of 10000 stay finite and right") {
  const std::vector<Shape> shapes = {
      {1, 1, 65, 130, 64, false}, {1, 1, 66, 65, 128, true}, {1, 1, 33, 40, 256, false}};
  check_all_shapes(2500, shapes);
  Fp32 problem(shapes[0], 7, 2500);
  double largest = 0;
  for (const double lse : problem.expected.lse) largest = std::max(largest, lse);
  CHECK(largest > 5000);
  CHECK(largest < 20'000);
}

TEST_CASE("attention: 131072 tokens, without extra memory") {
  if (!is_real_gpu()) SKIP_TEST("takes long without a GPU");
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  const auto variants = attention_ladder().variants;
  Fp32 problem({1, 1, 131'072, 131'072, 64, false}, 3);
  // Not kv_outer: a head alone keeps one SM busy for a minute.
  for (const char* name :
       {"online", "q_outer", "register_tile", "vectorized", "base_2", "async_copy"}) {
    const auto& variant = tests::variant_named(variants, name);
    if (!bench::why_skipped(variant, device).empty()) continue;
    check_variant(problem, variant, device, stream.get());
  }
  CHECK(problem.workspace.held_bytes() == 0);
}

TEST_CASE("attention: a hundred runs give the same bits") {
  if (!is_real_gpu()) SKIP_TEST("takes long without a GPU");
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  for (const int d : {64, 128, 256}) {
    Fp32 problem({1, 80, 70, 333, d, true}, 5);
    const auto ladder = attention_ladder();
    for (const auto& rung : ladder.variants) {
      if (rung.kind != bench::Kind::rung || rung.place != bench::Place::device) continue;
      if (tests::verify(problem, rung, device, stream.get()).status == bench::Status::skipped) {
        continue;
      }
      INFO(rung.name << ", d = " << d);
      CHECK(tests::count_different(problem, rung, 100, stream.get()) == 0);
    }
  }
}

TEST_CASE("attention: the reference is what the formula says") {
  const Shape shape{1, 2, 3, 5, 64, true};
  const Fp32 problem(shape, 3);
  const float *q = problem.q.pristine(), *k = problem.k.pristine(), *v = problem.v.pristine();
  REQUIRE(problem.expected.rows.size() == 6);
  for (int row = 0; row < 6; ++row) {
    const int head = row / 3, keys = row % 3 + 3;  // 5 keys, 3 queries: the first sees three
    double sum = 0;
    std::vector<double> o(64, 0.0);
    for (int j = 0; j < keys; ++j) {
      double score = 0;
      for (int c = 0; c < 64; ++c) score += 1.0 * q[row * 64 + c] * k[(head * 5 + j) * 64 + c];
      const double weight = std::exp(score / 8);
      sum += weight;
      for (int c = 0; c < 64; ++c) o[c] += weight * v[(head * 5 + j) * 64 + c];
    }
    CHECK(std::fabs(problem.expected.lse[row] - std::log(sum)) < 1e-12);
    for (int c = 0; c < 64; ++c) {
      CHECK(std::fabs(problem.expected.o[row * 64 + c] - o[c] / sum) < 1e-12);
    }
  }
}

TEST_CASE("attention: causal masks are aligned to the bottom right") {
  const Shape square{1, 1, 4, 4, 64, true}, wide{1, 1, 2, 5, 64, true}, tall{1, 1, 5, 2, 64, true};
  CHECK(square.visible(0) == 1);
  CHECK(square.visible(3) == 4);
  CHECK(wide.visible(0) == 4);
  CHECK(wide.visible(1) == 5);
  CHECK(tall.visible(2) == 0);
  CHECK(tall.visible(3) == 1);
  CHECK(tall.visible(4) == 2);
  CHECK(attention::flops(square) == 4 * 8 * 64);  // half of 16 pairs
  CHECK(attention::flops(wide) == 4 * 8 * 64);
  CHECK(attention::flops(tall) == 4 * 2 * 64);
}

TEST_CASE("attention: the bound lets rounding pass and nothing else") {
  for (const std::int64_t n : {8, 100, 700}) {
    DYNAMIC_SECTION("n = " << n) {
      const Shape shape{1, 1, n, n, 64, true};
      Fp32 problem(shape, 11);
      solve_on_host(problem);
      float *o = problem.o.host_data(), *lse = problem.lse.host_data();

      Shape off_by_one = shape;  // a mask that hides one key too many
      off_by_one.n_k = n - 1;
      std::vector<float> wrong(n * 64), wrong_lse(n);
      sequential(off_by_one, {problem.q.pristine(), problem.k.pristine(), problem.v.pristine(),
                              wrong.data(), wrong_lse.data()});
      std::int64_t refused = 0;
      for (std::int64_t i = 64; i < n * 64; ++i) {
        const float before = o[i];
        o[i] = wrong[i];
        refused += problem.check().right() ? 0 : 1;
        o[i] = before;
        if (n > 100) i += 61;
      }
      CHECK(refused > (n > 100 ? n * 64 / 62 : n * 64) * 6 / 10);

      const float before = lse[n / 2];
      lse[n / 2] += 0.001f;
      CHECK(problem.check().wrong == 1);
      CHECK(problem.check().first_wrong == problem.o.size() + n / 2);
      lse[n / 2] = before;
      o[77] = std::nanf("");
      o[99] = std::nanf("");
      CHECK(problem.check().wrong == 2);
      CHECK(problem.check().first_wrong == 77);
      CHECK(std::isnan(problem.check().max_error));
    }
  }
}

TEST_CASE("attention: in 16 bits twice the error of plain arithmetic passes and no more") {
  in_16_bits([](auto element) {
    using T = decltype(element);
    const Shape shape{1, 1, 60, 200, 64, false};
    Problem<T> problem(shape, 5);
    // Within a factor of ten of a rounding of the largest outputs, some 0.3 here.
    CHECK(problem.eager_error() > 0.03 * Element<T>::kUnit);
    CHECK(problem.eager_error() < 3 * Element<T>::kUnit);
    problem.each_array([](auto& array) { array.reset(bench::Side::host); });
    const auto fill = [&](double error) {
      for (std::int64_t i = 0; i < problem.o.size(); ++i) {
        problem.o.host_data()[i] = T(static_cast<float>(problem.expected.o[i] + error));
      }
      for (std::int64_t i = 0; i < 60; ++i) {
        problem.lse.host_data()[i] = static_cast<float>(problem.expected.lse[i]);
      }
    };
    fill(0);
    CHECK(problem.check().right());
    fill(1.5 * problem.eager_error());
    CHECK(problem.check().right());
    fill(3.5 * problem.eager_error());
    CHECK(problem.check().wrong > 0.9 * problem.o.size());
    CHECK(!problem.check_eager().right());
    // What went through bf16 on its way has lost three bits that fp16 would have kept.
    for (std::int64_t i = 0; i < problem.o.size(); ++i) {
      problem.o.host_data()[i] =
          T(static_cast<float>(rounded_to<__nv_bfloat16>(problem.expected.o[i])));
    }
    CHECK(problem.check().right() == std::is_same_v<T, __nv_bfloat16>);
    // A log-sum-exp from rounded scores passes only where scores are rounded.
    fill(0);
    for (std::int64_t i = 0; i < 60; ++i) {
      problem.lse.host_data()[i] = static_cast<float>(problem.expected.eager_lse[i]);
    }
    CHECK(!problem.check().right());
    CHECK(problem.check_eager().right());
  });
}

TEST_CASE("attention: what is known of the 16-bit types is so") {
  in_16_bits([](auto element) {
    using T = decltype(element);
    using Facts = Element<T>;
    // A tie goes to the even neighbour, what is above it goes up.
    CHECK(rounded_to<T>(1 + Facts::kUnit) == 1);
    CHECK(rounded_to<T>(1 + 1.01 * Facts::kUnit) == 1 + 2 * Facts::kUnit);
    CHECK(rounded_to<T>(Facts::kTiny) == 0);
    CHECK(rounded_to<T>(1.01 * Facts::kTiny) == 2 * Facts::kTiny);
    CHECK(rounded_to<T>(Facts::kLargest) == Facts::kLargest);
    CHECK(std::isinf(rounded_to<T>(Facts::kLargest * (1 + Facts::kUnit))));
  });
}

TEST_CASE("attention: a sample of the rows has the first and the last, the others are looked at") {
  const Shape shape{2, 3, 50, 40, 64, true};  // the first 10 rows of a head see nothing
  const auto rows = rows_to_check(shape, 20 * attention::flops(shape) / shape.rows());
  CHECK(rows.size() >= 15);
  CHECK(rows.size() <= 25);
  CHECK(std::is_sorted(rows.begin(), rows.end()));
  for (const std::int64_t row : {0, 49, 250, 299}) {
    CHECK(std::find(rows.begin(), rows.end(), row) != rows.end());
  }
  CHECK(rows_to_check(shape, 1e12).size() == 300);

  Fp32 problem(shape, 3);
  solve_on_host(problem);
  problem.expected =
      reference_of(shape, problem.q.pristine(), problem.k.pristine(), problem.v.pristine(), 5e4);
  REQUIRE(problem.expected.rows.size() < 30);
  CHECK(problem.check().right());
  std::int64_t unknown = 60;  // a row that is not in the sample
  while (std::binary_search(problem.expected.rows.begin(), problem.expected.rows.end(), unknown)) {
    ++unknown;
  }
  float *o = problem.o.host_data() + unknown * 64, *lse = problem.lse.host_data() + unknown;
  const auto refused = [&](float& element, float value) {
    const float before = element;
    element = value;
    const bool is_refused = problem.check().wrong == 1;
    element = before;
    return is_refused;
  };
  CHECK(refused(o[5], std::nanf("")));
  CHECK(refused(o[5], 1.1f));  // larger than any value
  CHECK(refused(*lse, -HUGE_VALF));
  CHECK(refused(*lse, std::nanf("")));
  CHECK(!refused(o[5], 0.9f));  // that much cannot be known

  std::int64_t later = 260;  // another one, of another thread; the first of both is named
  while (std::binary_search(problem.expected.rows.begin(), problem.expected.rows.end(), later)) {
    ++later;
  }
  o[5] = 1.1f;
  problem.o.host_data()[later * 64] = 1.2f;
  const bench::Comparison both = problem.check();
  CHECK(both.wrong == 2);
  CHECK(both.first_wrong == unknown * 64 + 5);
  CHECK(both.actual == 1.1f);
}

TEST_CASE("attention: extra memory is all scores, or two floats a query, or nothing") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  struct Claim {
    const char* variant;
    double bytes;
  };
  const Shape shape{2, 2, 50, 70, 64, false};
  const auto variants = attention_ladder().variants;
  for (const Claim claim :
       {Claim{"naive", 4.0 * 200 * 70}, Claim{"online", 0}, Claim{"kv_outer", 2 * 4.0 * 200},
        Claim{"q_outer", 0}, Claim{"register_tile", 0}, Claim{"vectorized", 0}, Claim{"base_2", 0},
        Claim{"async_copy", 0}}) {
    INFO(claim.variant);
    const auto& variant = tests::variant_named(variants, claim.variant);
    if (!bench::why_skipped(variant, device).empty()) continue;
    Fp32 problem(shape, 1);
    REQUIRE(tests::verify(problem, variant, device, nullptr).status == bench::Status::right);
    CHECK(problem.workspace.asked_bytes() == claim.bytes);
    problem.workspace.forget();
    std::size_t before = 0, after = 0, total = 0;
    CUDA_CHECK(cudaMemGetInfo(&before, &total));
    variant.run(problem, nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaMemGetInfo(&after, &total));
    CHECK(before == after);  // a rung allocates nothing itself
    CHECK(problem.workspace.asked_bytes() == claim.bytes);
  }
}

TEST_CASE("attention: more extra memory than there is means skipped") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  kit::Workspace workspace;
  CHECK_THROWS_AS(workspace.get<float>(std::int64_t{1} << 50), kit::Skip);
  CHECK(workspace.held_bytes() == 0);
  CHECK(workspace.get<float>(10) != nullptr);
}

TEST_CASE("attention: what each step saves, counted") {
#ifndef SIMT_INSTRUMENTED
  SKIP_TEST("counters need simt");
#else
  constexpr std::int64_t n = 128;
  const auto variants = attention_ladder().variants;
  const auto count = [&](const std::string& name, const std::string& kernel, bool causal = false) {
    Fp32 problem({1, 1, n, n, 64, causal}, 1);
    simt::profile_reset();
    const auto verdict = tests::verify(problem, tests::variant_named(variants, name),
                                       bench::query_device(), nullptr);
    REQUIRE(verdict.status == bench::Status::right);
    return simt::profile("attention_" + kernel + "_kernel");
  };
  const double matrix = 4.0 * n * 64;  // bytes of Q, K, V or O
  const auto loaded = [](const simt::KernelProfile& counts) {
    return static_cast<double>(counts.global.load_bytes_moved());
  };
  const auto stored = [](const simt::KernelProfile& counts) {
    return static_cast<double>(counts.global.store_bytes_moved());
  };

  // naive: the scores are written, read three times by the softmax and written again.
  CHECK(stored(count("naive", "scores")) == 4.0 * n * n);
  const auto softmax = count("naive", "softmax");
  CHECK(loaded(softmax) == 3 * 4.0 * n * n);
  CHECK(stored(softmax) == 4.0 * n * n + 32 * n);  // and lse, a sector for each row
  // online: each query reads all keys and all values; nothing but the result is written.
  const auto online = count("online", "online");
  CHECK(loaded(online) == (1 + 2 * n) * matrix);
  CHECK(stored(online) == matrix + 32 * n);
  // kv_outer: keys and values once; the state of the outputs comes and goes with each of 4 tiles.
  const auto kv_outer = count("kv_outer", "kv_outer");
  CHECK(loaded(kv_outer) >= (2 + 4 + 3) * matrix);
  CHECK(stored(kv_outer) >= 4 * matrix);
  // q_outer: keys and values once for each of 4 tiles of queries, the state never.
  const auto q_outer = count("q_outer", "q_outer");
  CHECK(loaded(q_outer) == (1 + 4 * 2) * matrix);
  CHECK(stored(q_outer) < 1.2 * matrix);
  // and a causal block ends at its diagonal: 1 + 2 + 3 + 4 of 16 tiles.
  CHECK(loaded(count("q_outer", "q_outer", true)) == (1 + 2 * 10 / 4.0) * matrix);
  // register_tile: a load from shared memory serves more multiply-adds. vectorized: 12 loads for
  // 128 of them in the second product, too, not 48 (of which nvcc makes 24); base_2 changes no
  // load.
  const auto tile = count("register_tile", "register_tile");
  const auto vectors = count("vectorized", "vectorized"), base_2 = count("base_2", "base_2");
  CHECK(tile.shared.load_requests < 0.35 * q_outer.shared.load_requests);
  CHECK(vectors.shared.load_requests == 0.4 * tile.shared.load_requests);
  CHECK(base_2.shared.load_requests == vectors.shared.load_requests);
  for (const auto& counts : {q_outer, tile, vectors, base_2}) {
    CHECK(counts.shared.load_conflict_degree() < 1.01);
    CHECK(counts.shared.store_conflict_degree() < 1.01);
  }
  // One block has all 128 queries. While a tile travels to shared memory nobody holds it in
  // registers, but it is the same tile.
  for (const auto& counts : {tile, vectors, base_2}) CHECK(loaded(counts) == 3 * matrix);
  CHECK(loaded(count("async_copy", "async_copy")) == 3 * matrix);
#endif
}
