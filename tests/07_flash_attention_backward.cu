// Chapter 07, the backward pass: the reference is the gradient, every variant is right for every
// shape, and memory is used as the lesson says.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "07_flash_attention/backward/c_interface.cu"
#include "07_flash_attention/backward/ladder.cuh"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/verify.hpp"

#if __has_include("simt/profile.h")
#include "simt/profile.h"
#endif

namespace {

using backward::Backward;
using backward::backward_ladder;
using backward::Shape;

// `d` counts through 64, 128, 256.
bench::Settings::Given sizes(std::int64_t batch, std::int64_t heads, std::int64_t kv_heads,
                             std::int64_t n, std::int64_t nk, std::int64_t d, std::int64_t causal) {
  return {{"batch", batch},  {"heads", heads}, {"kv-heads", kv_heads},
          {"n", n},          {"nk", nk},       {"d", std::int64_t{64} << d},
          {"causal", causal}};
}

// One query, one key; a warp, and the tiles of all rungs, each more and less by one; primes; more
// queries than keys, and fewer; several heads; query heads that share a K/V head.
const std::vector<bench::Settings::Given> kSizes = {
    sizes(1, 1, 1, 1, 1, 0, 0),   sizes(1, 1, 1, 2, 3, 0, 0),    sizes(1, 1, 1, 1, 65, 0, 0),
    sizes(1, 1, 1, 65, 1, 0, 0),  sizes(2, 3, 3, 5, 7, 0, 0),    sizes(1, 4, 2, 31, 33, 0, 0),
    sizes(1, 1, 1, 32, 32, 0, 0), sizes(1, 1, 1, 33, 31, 0, 0),  sizes(2, 6, 2, 35, 34, 0, 1),
    sizes(1, 1, 1, 65, 63, 0, 0), sizes(1, 1, 1, 127, 65, 0, 0), sizes(1, 1, 1, 129, 130, 0, 1),
    sizes(1, 1, 1, 37, 70, 1, 0), sizes(1, 2, 1, 65, 33, 1, 1),  sizes(1, 1, 1, 33, 40, 2, 0),
    sizes(1, 1, 1, 1, 1, 2, 1),   sizes(1, 1, 1, 1, 70, 0, 1),   sizes(1, 2, 2, 17, 97, 0, 1),
    sizes(1, 1, 1, 97, 17, 0, 1), sizes(1, 1, 1, 70, 1, 0, 1),   sizes(1, 1, 1, 65, 66, 2, 1),
    sizes(1, 1, 1, 65, 130, 0, 0)};

// A few of them, for a type whose kernels are those of another one.
const std::vector<bench::Settings::Given> kFewSizes = {
    sizes(1, 1, 1, 1, 1, 0, 0),   sizes(2, 6, 2, 35, 34, 0, 1), sizes(1, 1, 1, 97, 17, 0, 1),
    sizes(1, 2, 1, 65, 33, 1, 1), sizes(1, 1, 1, 37, 70, 1, 0), sizes(1, 1, 1, 65, 66, 2, 1)};

// `here`, or on a GPU all, and what only a GPU does in a second: many tiles, and more heads than
// 2^16.
std::vector<bench::Settings::Given> sizes_for_this_machine(
    const std::vector<bench::Settings::Given>& here) {
  if (!bench::query_device().is_real_gpu()) return here;
  auto all = kSizes;
  for (const std::int64_t d : {0, 1, 2}) {
    all.push_back(sizes(2, 6, 2, 1021, 1531, d, 1));
    all.push_back(sizes(1, 3, 1, 1531, 1021, d, 0));
    all.push_back(sizes(1, 2, 2, 1531, 1021, d, 1));
  }
  all.push_back(sizes(1, 70'000, 70'000, 3, 5, 0, 0));
  return all;
}

// The sum of dO O in double precision, with O = softmax(Q K^T / sqrt(d)) V of what is in q, k, v.
double loss(const Shape& shape, const std::vector<double>& q, const std::vector<double>& k,
            const std::vector<double>& v, const float* d_o) {
  const int d = shape.d;
  double all = 0;
  for (std::int64_t row = 0; row < shape.rows(); ++row) {
    const std::int64_t first_key = row / shape.n_q / shape.group() * shape.n_k;
    double sum = 0, product = 0;
    for (int j = 0; j < shape.visible(static_cast<int>(row % shape.n_q)); ++j) {
      double score = 0, of_value = 0;
      for (int c = 0; c < d; ++c) {
        score += q[row * d + c] * k[(first_key + j) * d + c];
        of_value += static_cast<double>(d_o[row * d + c]) * v[(first_key + j) * d + c];
      }
      const double weight = std::exp(score / std::sqrt(static_cast<double>(d)));
      sum += weight;
      product += weight * of_value;
    }
    if (sum > 0) all += product / sum;
  }
  return all;
}

// The largest difference between a gradient of the reference and (loss(x + h) - loss(x - h)) / 2h.
template <class Loss>
double largest_difference(std::vector<double>& x, const std::vector<double>& gradient, Loss loss) {
  constexpr double kStep = 1e-4;
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + kStep;
    const double above = loss();
    x[i] = at - kStep;
    const double below = loss();
    x[i] = at;
    largest = std::max(largest, std::fabs((above - below) / (2 * kStep) - gradient[i]));
  }
  return largest;
}

// Calls test(element) for an element of each type, each time in a section of its own.
template <class Test>
void in_every_type(Test test) {
  SECTION("fp32") { test(float{}); }
  SECTION("bf16") { test(__nv_bfloat16{}); }
  SECTION("fp16") { test(__half{}); }
}

// The gradients that the last run left, byte by byte.
template <class T>
std::string bits_of(const Backward<T>& problem) {
  std::string bits;
  for (const auto* array : {&problem.dq, &problem.dk, &problem.dv}) {
    bits.append(reinterpret_cast<const char*>(array->fetched()), array->size() * sizeof(T));
  }
  return bits;
}

// In how many of `runs` runs the gradients have other bits than in one before them.
template <class T>
int runs_that_differ(Backward<T>& problem, const bench::Variant<Backward<T>>& rung, int runs) {
  const auto device = bench::query_device();
  const bench::WorkStream stream(device);
  std::string first;
  int different = 0;
  for (int run = 0; run <= runs; ++run) {
    const auto verdict = tests::verify(problem, rung, device, stream.get());
    if (verdict.status == bench::Status::skipped) return 0;
    REQUIRE(verdict.status == bench::Status::right);
    if (run == 0) first = bits_of(problem);
    different += bits_of(problem) != first ? 1 : 0;
  }
  return different;
}

// A rung as a program in another language calls it.
template <class T>
bench::Variant<Backward<T>> through_c(const char* rung) {
  const auto run = [rung](Backward<T>& p, cudaStream_t stream) {
    const Shape& s = p.shape;
    const auto t = p.device_data();
    const std::int64_t bytes =
        attention_backward_scratch(rung, s.batch, s.heads, s.kv_heads, s.n_q, s.n_k, s.d);
    REQUIRE(bytes > 0);
    REQUIRE(attention_backward(rung, t.q, t.k, t.v, t.o, t.d_o, t.lse, t.dq, t.dk, t.dv,
                               p.workspace.template get<float>(bytes / 4), s.batch, s.heads,
                               s.kv_heads, s.n_q, s.n_k, s.d, s.causal, std::is_same_v<T, __half>,
                               stream) == 0);
  };
  return bench::device_variant<Backward<T>>(rung, "through C", run, bench::needs_exactly_sm(90));
}

}  // namespace

TEST_CASE("backward: the reference is what finite differences say") {
  for (const Shape& shape : {Shape{1, 1, 1, 3, 4, 64, false}, Shape{1, 2, 1, 3, 2, 64, true},
                             Shape{2, 2, 1, 1, 3, 64, true}}) {
    Backward<float> problem(shape, 3, false);
    std::vector<double> q(problem.q.pristine(), problem.q.pristine() + problem.q.size());
    std::vector<double> k(problem.k.pristine(), problem.k.pristine() + problem.k.size());
    std::vector<double> v(problem.v.pristine(), problem.v.pristine() + problem.v.size());
    const auto loss_now = [&] { return loss(shape, q, k, v, problem.d_o.pristine()); };
    // O and the log-sum-exp are rounded to fp32, so 1e-6 is what to expect.
    CHECK(largest_difference(q, problem.expected.dq.value, loss_now) < 3e-6);
    CHECK(largest_difference(k, problem.expected.dk.value, loss_now) < 3e-6);
    CHECK(largest_difference(v, problem.expected.dv.value, loss_now) < 3e-6);
  }
}

// Clusters of two have a path for d = 256 alone, these five none for it.
const tests::Refuses kRefuses = [](const std::string& name, const bench::Settings::Given& size) {
  const bool is_256 = size.at("d") == 256;
  if (name == "paired" || name == "paired_in_order") return !is_256;
  return is_256 && (name == "reduced_by_tma" || name == "lean_steps" || name == "persistent" ||
                    name == "errands" || name == "persistent_in_order");
};

TEST_CASE("backward: every variant is right at every size, in fp32") {
  const auto ladder = backward_ladder<float>();
  tests::every_variant_is_right(ladder, sizes_for_this_machine(kSizes), kRefuses);
}
TEST_CASE("backward: every variant is right at every size, in bf16") {
  const auto ladder = backward_ladder<__nv_bfloat16>();
  tests::every_variant_is_right(ladder, sizes_for_this_machine(kSizes), kRefuses);
}
TEST_CASE("backward: every variant is right at every size, in fp16") {
  const auto ladder = backward_ladder<__half>();
  tests::every_variant_is_right(ladder, sizes_for_this_machine(kFewSizes), kRefuses);
}

TEST_CASE("backward: every launch is in the stream that was given, in fp32") {
  tests::every_launch_is_in_its_stream(backward_ladder<float>(), sizes(1, 1, 1, 33, 66, 0, 0));
}
TEST_CASE("backward: every launch is in the stream that was given, in bf16") {
  const auto ladder = backward_ladder<__nv_bfloat16>();
  tests::every_launch_is_in_its_stream(ladder, sizes(1, 1, 1, 33, 66, 0, 1));
}
TEST_CASE("backward: every launch is in the stream that was given, where d is 256") {
  auto ladder = backward_ladder<__nv_bfloat16>();
  ladder.variants = {tests::variant_named(ladder.variants, "paired"),
                     tests::variant_named(ladder.variants, "paired_in_order")};
  tests::every_launch_is_in_its_stream(ladder, sizes(1, 1, 1, 65, 66, 2, 1));
}

TEST_CASE("backward: the C interface runs its rungs on every element type and shape") {
  const auto run = [](auto element) {
    using T = decltype(element);
    bench::Ladder<Backward<T>> ladder = backward_ladder<T>();
    ladder.variants = {through_c<T>("mma"), through_c<T>("square_tiles"), through_c<T>("chosen"),
                       through_c<T>("in_order")};
    tests::every_variant_is_right(ladder,
                                  {sizes(1, 4, 2, 35, 34, 0, 1), sizes(1, 4, 2, 35, 34, 2, 1)});
  };
  run(__nv_bfloat16{});
  run(__half{});
}

TEST_CASE("backward: the C interface refuses a rung that it does not know") {
  CHECK(attention_backward_scratch("fastest", 1, 1, 1, 8, 8, 64) == -1);
}

TEST_CASE("backward: rows that see no key have a gradient of zeros") {
  in_every_type([](auto element) {
    using T = decltype(element);
    const auto ladder = backward_ladder<T>();
    const auto device = bench::query_device();
    const bench::WorkStream stream(device);
    for (const auto& variant : ladder.variants) {
      INFO(variant.name);
      const auto problem = ladder.make_problem(sizes(1, 2, 1, 40, 7, 0, 1));
      const auto verdict = tests::verify(*problem, variant, device, stream.get());
      if (verdict.status == bench::Status::skipped) continue;
      REQUIRE(verdict.status == bench::Status::right);
      int wrong = 0;
      for (const int head : {0, 1}) {
        for (int i = 0; i < 33 * 64; ++i) {  // the last 7 of 40 rows see keys
          wrong += attention::to_double(problem->dq.fetched()[head * 40 * 64 + i]) == 0 ? 0 : 1;
        }
      }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("backward: the bounds notice one pair of 90000 that was left out") {
  in_every_type([](auto element) {
    using T = decltype(element);
    const auto ladder = backward_ladder<T>();
    const auto problem = ladder.make_problem(sizes(1, 1, 1, 300, 300, 0, 0));
    const auto& rung = tests::variant_named(ladder.variants, "sequential");
    REQUIRE(tests::verify(*problem, rung, {}, nullptr).status == bench::Status::right);
    constexpr int kKey = 17, d = 64;
    const auto weight_of = [&](int query) {
      double score = 0;
      for (int c = 0; c < d; ++c) {
        score += attention::to_double(problem->q.pristine()[query * d + c]) *
                 attention::to_double(problem->k.pristine()[kKey * d + c]) / 8;
      }
      return std::exp(score - problem->lse.pristine()[query]);
    };
    int query = 0;
    while (weight_of(query) < 1.0 / 300) ++query;  // a weight like most
    T* dv = problem->dv.host_data() + kKey * d;
    for (int c = 0; c < d; ++c) {
      const double left_out =
          weight_of(query) * attention::to_double(problem->d_o.pristine()[query * d + c]);
      dv[c] = T(static_cast<float>(attention::to_double(dv[c]) - left_out));
    }
    CHECK(!problem->check().right());
  });
}

TEST_CASE("backward: two_passes and the rungs in order give the same bits in every run") {
  const auto device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const bool real = device.is_real_gpu();
  // On a GPU several tiles of keys: at d = 256 others add than below.
  std::vector<bench::Settings::Given> shapes = {sizes(1, 2, 1, 65, 65, 0, 1)};
  // And more tiles than SMs, and heads that errands prepare.
  if (real) {
    shapes = {sizes(1, 16, 4, 333, 333, 1, 1), sizes(1, 16, 4, 333, 333, 2, 1),
              sizes(1, 128, 64, 333, 777, 0, 0)};
  }
  in_every_type([&](auto element) {
    using T = decltype(element);
    const auto ladder = backward_ladder<T>();
    for (const auto& shape : shapes) {
      const auto problem = ladder.make_problem(shape);
      for (const auto& rung : ladder.variants) {
        const bool in_order = rung.name == "in_order" || rung.name == "persistent_in_order" ||
                              rung.name == "paired_in_order";
        if (rung.name != "two_passes" && !in_order) continue;
        INFO(rung.name);
        CHECK(runs_that_differ(*problem, rung, real ? 100 : 3) == 0);
      }
    }
  });
}

// Heads are begun in bands of 16, in persistent_in_order of 64 where tiles have few steps: the last
// head is a band of its own.
TEST_CASE("backward: every tile of keys of every head is taken") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  auto ladder = backward_ladder<__nv_bfloat16>();
  const auto all = ladder.variants;
  ladder.variants = {tests::variant_named(all, "in_order"),
                     tests::variant_named(all, "longest_first")};
  tests::every_variant_is_right(ladder, {sizes(1, 17, 17, 1, 260, 0, 1)});
  ladder.variants = {tests::variant_named(all, "persistent_in_order")};
  tests::every_variant_is_right(ladder, {sizes(1, 65, 65, 1, 260, 0, 1)});
}

// Two clusters, of which the last block has no keys; three steps for each of two heads that share
// their keys: stages go around, and each block meets dS of the other.
TEST_CASE("backward: paired is right where clusters have several steps") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  auto ladder = backward_ladder<__nv_bfloat16>();
  const auto all = ladder.variants;
  ladder.variants = {tests::variant_named(all, "paired"),
                     tests::variant_named(all, "paired_in_order")};
  tests::every_variant_is_right(ladder, {sizes(1, 2, 1, 150, 190, 2, 1)});
}

// Four tiles of keys: with two the sum would be the same in either order. Where nobody waits, about
// one run in three differs on two cores.
TEST_CASE("backward: blocks of in_order wait for their turn") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const auto ladder = backward_ladder<__nv_bfloat16>();
  const auto problem = ladder.make_problem(sizes(1, 1, 1, 130, 400, 0, 0));
  CHECK(runs_that_differ(*problem, tests::variant_named(ladder.variants, "in_order"), 20) == 0);
}

TEST_CASE("backward: couriers of persistent_in_order wait for their turn") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const auto ladder = backward_ladder<__nv_bfloat16>();
  const auto problem = ladder.make_problem(sizes(1, 1, 1, 130, 900, 0, 0));
  const auto rung = tests::variant_named(ladder.variants, "persistent_in_order");
  CHECK(runs_that_differ(*problem, rung, 20) == 0);
}

TEST_CASE("backward: clusters of paired_in_order wait for their turn") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const auto ladder = backward_ladder<__nv_bfloat16>();
  const auto problem = ladder.make_problem(sizes(1, 1, 1, 100, 500, 2, 0));
  const auto rung = tests::variant_named(ladder.variants, "paired_in_order");
  CHECK(runs_that_differ(*problem, rung, 20) == 0);
}

TEST_CASE("backward: the chooser takes no rung that is slower than the one before") {
  const auto device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const auto ladder = backward_ladder<float>();
  const auto problem = ladder.make_problem(sizes(1, 1, 1, 33, 33, 0, 0));
  const auto chooser = tests::variant_named(ladder.variants, "chosen");
  REQUIRE(tests::verify(*problem, chooser, device, nullptr).status == bench::Status::right);
  CHECK(chooser.chose(*problem) == "recomputed");  // and not two_passes
}

TEST_CASE("backward: the chooser takes a rung by d") {
  const auto device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const auto ladder = backward_ladder<__half>();
  const auto& paired = tests::variant_named(ladder.variants, "paired");
  if (!bench::why_skipped(paired, device).empty()) SKIP_TEST("needs Hopper");
  const auto chooser = tests::variant_named(ladder.variants, "chosen");
  const std::vector<std::string> expected = {"errands", "errands", "paired"};
  for (const int d : {0, 1, 2}) {
    const auto problem = ladder.make_problem(sizes(1, 1, 1, 33, 33, d, 0));
    REQUIRE(tests::verify(*problem, chooser, device, nullptr).status == bench::Status::right);
    CHECK(chooser.chose(*problem) == expected[d]);
  }
}

TEST_CASE("backward: a persistent block goes from one tile of keys to the next") {
  // More heads than an H100 or H200 has SMs, each with one tile of keys; then a few with several
  // tiles, so that some blocks of a model with few SMs draw long tiles, and others short ones.
  auto ladder = backward_ladder<__nv_bfloat16>();
  ladder.variants = {tests::variant_named(ladder.variants, "persistent")};
  tests::every_variant_is_right(ladder,
                                {sizes(1, 270, 135, 3, 5, 0, 0), sizes(2, 70, 70, 5, 3, 1, 1),
                                 sizes(1, 140, 140, 2, 130, 0, 1)});
}

// A block with several errands and several tiles, one after the other.
TEST_CASE("backward: on a GPU a warp runs one errand after the other") {
  const auto device = bench::query_device();
  if (!device.available || !device.is_real_gpu()) SKIP_TEST("needs a real GPU");
  auto ladder = backward_ladder<__nv_bfloat16>();
  const auto all = ladder.variants;
  ladder.variants = {tests::variant_named(all, "errands"),
                     tests::variant_named(all, "persistent_in_order")};
  tests::every_variant_is_right(
      ladder, {sizes(1, 400, 400, 130, 300, 0, 0), sizes(1, 400, 400, 130, 300, 0, 1),
               sizes(1, 400, 200, 130, 300, 1, 0), sizes(1, 400, 200, 130, 300, 1, 1)});
}

TEST_CASE("backward: errands make D and zeros for heads that come later") {
  // More heads than those that are prepared before the launch. Errands with all of their rows, with
  // some, with none; two query heads to a K/V head; rows of d = 128; bands of heads.
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const std::int64_t of_wave = kit::divide_up(kit::multiprocessor_count(), 2);
  auto ladder = backward_ladder<__nv_bfloat16>();
  const auto all = ladder.variants;
  ladder.variants = {tests::variant_named(all, "errands")};
  tests::every_variant_is_right(ladder, {sizes(1, of_wave + 2, of_wave + 2, 66, 129, 0, 0),
                                         sizes(1, 2 * of_wave + 4, of_wave + 2, 3, 129, 0, 0),
                                         sizes(1, of_wave + 2, of_wave + 2, 4, 129, 1, 0),
                                         sizes(1, of_wave + 17, of_wave + 17, 3, 140, 0, 1)});
  ladder.variants = {tests::variant_named(all, "persistent_in_order")};  // in bands of 64
  tests::every_variant_is_right(ladder, {sizes(1, of_wave + 65, of_wave + 65, 3, 140, 0, 1)});
}

TEST_CASE("backward: atomics and memory, as the lesson says") {
#ifndef SIMT_INSTRUMENTED
  SKIP_TEST("counters need simt");
#else
  const auto ladder = backward_ladder<float>();
  const auto device = bench::query_device();
  constexpr std::int64_t n = 64, d = 64;
  const auto problem = ladder.make_problem(sizes(1, 1, 1, n, n, 0, 0));
  const auto run = [&](const std::string& name) {
    simt::profile_reset();
    problem->forget_scratch();
    REQUIRE(tests::verify(*problem, tests::variant_named(ladder.variants, name), device, nullptr)
                .status == bench::Status::right);
  };
  run("stored");
  CHECK(problem->scratch_bytes() == 2 * n * n * sizeof(float));
  run("fused");
  CHECK(problem->scratch_bytes() == (2 * n * n + 2 * 128) * sizeof(float));  // padded to 128 rows
  run("one_matrix");
  CHECK(problem->scratch_bytes() == (n * n + 2 * 128) * sizeof(float));
  CHECK(simt::profile("one_matrix_kernel").atomics.global_lanes == 0);
  run("recomputed");
  CHECK(problem->scratch_bytes() == (d + 2) * 128 * sizeof(float));
  // Every block of 32 keys adds to every element of dQ.
  CHECK(simt::profile("recomputed_kernel").atomics.global_lanes == n / 32 * n * d);
  run("two_passes");
  CHECK(problem->scratch_bytes() == 2 * 128 * sizeof(float));
  CHECK(simt::profile("two_passes_keys_kernel").atomics.global_lanes == 0);
  CHECK(simt::profile("two_passes_queries_kernel").atomics.global_lanes == 0);
#endif
}

TEST_CASE("backward: square_tiles reads less shared memory than mma, as the lesson says") {
#ifndef SIMT_INSTRUMENTED
  SKIP_TEST("counters need simt");
#else
  const auto ladder = backward_ladder<__nv_bfloat16>();
  // One block, one step: 64 queries, 128 keys, d = 128.
  const auto problem = ladder.make_problem(sizes(1, 1, 1, 64, 128, 1, 0));
  const auto read_by = [&](const std::string& name) {
    simt::profile_reset();
    const auto& rung = tests::variant_named(ladder.variants, name);
    REQUIRE(tests::verify(*problem, rung, bench::query_device(), nullptr).status ==
            bench::Status::right);
    return simt::profile(name + "_kernel").shared.load_wavefronts;
  };
  // Wavefronts of 128 bytes, with those of the log-sum-exp and D.
  CHECK(read_by("mma") == 6656);
  CHECK(read_by("square_tiles") == 4864);
#endif
}
