// Chapter 07, decoding: every variant is right for every shape and every layout of the caches, the
// same bits come out of every run, and memory is read as often as the lesson says.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "07_flash_attention/decode/ladder.cuh"
#include "07_flash_attention/known_rows.hpp"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/launch.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/verify.hpp"

#if __has_include("simt/profile.h")
#include "simt/profile.h"
#endif

namespace {

using decode::Decode;
using Bf16 = __nv_bfloat16;
using Given = bench::Settings::Given;

// `d` counts through 64, 128, 256.
Given sizes(std::int64_t batch, std::int64_t heads, std::int64_t kv_heads, std::int64_t n,
            std::int64_t d) {
  return {{"batch", batch},
          {"heads", heads},
          {"kv-heads", kv_heads},
          {"n", n},
          {"d", std::int64_t{64} << d}};
}
Given pages(Given given, std::int64_t page, std::int64_t window, std::int64_t ragged) {
  given["page"] = page;
  given["ragged"] = ragged;
  if (window > 0) given["window"] = window;
  return given;
}

// One token; a team, a warp, a stage and a chunk of keys, each more and less by one; groups of 1,
// 2, 4, 7, 8 and more than a tile of a tensor core.
const std::vector<Given> kSizes = {
    sizes(1, 1, 1, 1, 0), sizes(2, 2, 1, 2, 0), sizes(1, 4, 1, 31, 0), sizes(1, 7, 1, 32, 1),
    sizes(1, 16, 2, 33, 0), sizes(1, 4, 2, 63, 0), sizes(3, 2, 2, 64, 1), sizes(1, 14, 2, 65, 0),
    sizes(1, 4, 1, 127, 2), sizes(2, 3, 1, 17, 0), sizes(1, 2, 1, 128, 1), sizes(1, 1, 1, 129, 2),
    sizes(1, 8, 1, 300, 0), sizes(1, 20, 1, 70, 0),
    // A cluster of four, with more than half a tile of queries.
    sizes(3, 12, 1, 700, 0)};

// More work tiles than SMs: a block that stays has several, of one step and of two.
const std::vector<Given> kManySizes = {sizes(140, 9, 1, 20, 0), sizes(133, 2, 1, 130, 0)};

// A few of them, for a type whose kernels are those of another one.
const std::vector<Given> kFewSizes = {sizes(1, 1, 1, 1, 0), sizes(1, 7, 1, 32, 1),
                                      sizes(1, 4, 1, 127, 2), sizes(1, 8, 1, 300, 0)};

// Pages of 1, 3, 16 and 64 tokens; windows within a page and over several; sequences without
// tokens; a block an SM, with more steps than a ring has stages.
const std::vector<Given> kPagedSizes = {
    pages(sizes(1, 1, 1, 1, 0), 1, 0, 0),     pages(sizes(1, 4, 1, 33, 0), 1, 0, 0),
    pages(sizes(2, 4, 2, 130, 0), 16, 0, 0),  pages(sizes(5, 4, 1, 70, 0), 16, 0, 1),
    pages(sizes(3, 14, 2, 65, 1), 64, 0, 1),  pages(sizes(4, 2, 2, 200, 0), 3, 0, 1),
    pages(sizes(3, 4, 1, 129, 2), 16, 40, 1), pages(sizes(2, 8, 1, 300, 0), 64, 100, 0),
    pages(sizes(2, 20, 1, 66, 0), 16, 1, 1),  pages(sizes(40, 1, 1, 20, 0), 4, 0, 1),
    pages(sizes(66, 2, 2, 200, 2), 16, 0, 1)};

// What only a GPU does in a second: many chunks, and more heads than 2^16.
std::vector<Given> sizes_for_this_machine(std::vector<Given> sizes_here) {
  if (!bench::query_device().is_real_gpu()) return sizes_here;
  for (const std::int64_t d : {0, 1, 2}) {
    sizes_here.push_back(sizes(1, 32, 8, 20'011, d));
    sizes_here.push_back(sizes(7, 28, 4, 1531, d));
    sizes_here.push_back(sizes(70, 40, 40, 257, d));
  }
  sizes_here.push_back(sizes(70'000, 2, 1, 3, 0));
  return sizes_here;
}

template <class T>
std::string bits_of(const Decode<T>& problem) {
  std::string bits;
  bits.append(reinterpret_cast<const char*>(problem.o.fetched()), problem.o.size() * sizeof(T));
  bits.append(reinterpret_cast<const char*>(problem.lse.fetched()),
              problem.lse.size() * sizeof(float));
  return bits;
}

// Every rung on the device, many times on one input: the same bits in each run.
template <class T>
void check_bits(const bench::Ladder<Decode<T>>& ladder, const Given& given) {
  const auto device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const bench::WorkStream stream(device);
  const auto problem = ladder.make_problem(given);
  for (const auto& rung : ladder.variants) {
    if (rung.place != bench::Place::device || rung.kind != bench::Kind::rung) continue;
    INFO(rung.name);
    if (tests::verify(*problem, rung, device, stream.get()).status != bench::Status::right) {
      continue;
    }
    const std::string before = bits_of(*problem);
    int different = 0;
    for (int run = 0; run < (device.is_real_gpu() ? 100 : 3); ++run) {
      REQUIRE(tests::verify(*problem, rung, device, stream.get()).status == bench::Status::right);
      different += bits_of(*problem) != before ? 1 : 0;
    }
    CHECK(different == 0);
  }
}

}  // namespace

// prefill_kernel has a block a row, whatever there is, and takes longer for many than all others
// together: it gets few.
TEST_CASE("decode: every variant is right at every size, in bf16") {
  auto ladder = decode::decode_ladder<Bf16>(), slow = ladder;
  slow.variants = {tests::variant_named(ladder.variants, "prefill_kernel")};
  tests::every_variant_is_right(slow, sizes_for_this_machine(kSizes));
  auto& others = ladder.variants;
  others.erase(std::remove_if(others.begin(), others.end(),
                              [](const auto& each) { return each.name == "prefill_kernel"; }),
               others.end());
  auto all_sizes = kSizes;
  all_sizes.insert(all_sizes.end(), kManySizes.begin(), kManySizes.end());
  tests::every_variant_is_right(ladder, sizes_for_this_machine(all_sizes));
}
TEST_CASE("decode: every variant is right at every size, in fp16") {
  tests::every_variant_is_right(decode::decode_ladder<__half>(), sizes_for_this_machine(kFewSizes));
}
TEST_CASE("decode: every variant is right with caches in pages") {
  auto sizes_here = kPagedSizes;
  if (bench::query_device().is_real_gpu()) {
    sizes_here.push_back(pages(sizes(33, 32, 8, 4099, 1), 16, 0, 1));
    sizes_here.push_back(pages(sizes(1, 16, 2, 50'021, 1), 1, 0, 0));
    sizes_here.push_back(pages(sizes(20, 16, 2, 5000, 2), 64, 1024, 1));
    sizes_here.push_back(pages(sizes(70'000, 2, 1, 5, 0), 2, 0, 1));
  }
  tests::every_variant_is_right(decode::decode_paged_ladder<Bf16>(), sizes_here);
}

TEST_CASE("decode: a token's row is that of its sequence's page, of its head, of its place there") {
  // Two sequences of up to ten tokens, two K/V heads, pages of four tokens.
  const std::vector<int> lengths = {10, 6}, table = {7, 2, 0, 5, 3, 9};
  const decode::Shape shape{2, 4, 2, 10, 64};
  const decode::Cache cache{lengths.data(), table.data(), 4, 3, 10};
  CHECK(cache.row(shape, 0, 0) == 7 * 8 + 0 * 4 + 0);
  CHECK(cache.row(shape, 0, 9) == 0 * 8 + 0 * 4 + 1);
  CHECK(cache.row(shape, 1, 3) == 7 * 8 + 1 * 4 + 3);
  CHECK(cache.row(shape, 2, 2) == 5 * 8 + 0 * 4 + 2);
  CHECK(cache.row(shape, 3, 5) == 3 * 8 + 1 * 4 + 1);
  CHECK(cache.row(shape, 1, 14) == 0 * 8 + 1 * 4 + 2);  // behind all pages: in the last
}
TEST_CASE("decode: all work is in the stream that was given") {
  tests::every_launch_is_in_its_stream(decode::decode_ladder<Bf16>(), sizes(1, 4, 1, 200, 0));
  tests::every_launch_is_in_its_stream(decode::decode_paged_ladder<Bf16>(),
                                       pages(sizes(2, 4, 1, 200, 0), 16, 0, 1));
}

TEST_CASE("decode: a sequence without tokens gives zeros and -infinity") {
  const auto ladder = decode::decode_paged_ladder<Bf16>();
  const auto device = bench::query_device();
  const bench::WorkStream stream(device);
  for (const auto& variant : ladder.variants) {
    if (variant.kind == bench::Kind::yardstick) continue;
    INFO(variant.name);
    const auto problem = ladder.make_problem(pages(sizes(3, 4, 2, 20, 0), 16, 0, 0));
    problem->lengths.pristine()[1] = 0;
    problem->compute_reference();
    const auto verdict = tests::verify(*problem, variant, device, stream.get());
    if (verdict.status == bench::Status::skipped) continue;
    REQUIRE(verdict.status == bench::Status::right);
    int wrong = 0;
    for (int row = 4; row < 8; ++row) {
      const float lse = problem->lse.fetched()[row];
      wrong += lse == -std::numeric_limits<float>::infinity() ? 0 : 1;
      for (int c = 0; c < 64; ++c)
        wrong += attention::to_double(problem->o.fetched()[row * 64 + c]) != 0;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("decode: the bounds notice one key of 300 that was left out") {
  const auto ladder = decode::decode_ladder<Bf16>();
  const auto problem = ladder.make_problem(sizes(1, 1, 1, 300, 0));
  REQUIRE(tests::verify(*problem, tests::variant_named(ladder.variants, "sequential"), {}, nullptr)
              .status == bench::Status::right);
  double score = 0;
  for (int c = 0; c < 64; ++c) {
    score += attention::to_double(problem->q.pristine()[c]) *
             attention::to_double(problem->k.pristine()[c]) / 8;
  }
  const double weight = std::exp(score - problem->expected.lse[0]);
  for (int c = 0; c < 64; ++c) {
    const double v = attention::to_double(problem->v.pristine()[c]);
    const double left = (attention::to_double(problem->o.fetched()[c]) - weight * v) / (1 - weight);
    problem->o.host_data()[c] = Bf16(static_cast<float>(left));
  }
  CHECK(!problem->check().right());
}

TEST_CASE("known rows: the first wrong element is named and what nobody wrote is counted") {
  // Of rows 0 to 3, two are known. An element on its bound is right.
  attention::KnownRows known({1, 3}, 2);
  known.value = {1, 2, 3, HUGE_VAL};
  known.bound = {0.5, 0, 0, 0};
  bench::GuardedArray<Bf16> left("left", bench::Role::output, 8);
  left.reset(bench::Side::host);
  const auto compare_with = [&](std::initializer_list<float> x, bool nan_allows_any = false) {
    std::copy(x.begin(), x.end(), left.host_data());
    return known.compare(left, 2, nan_allows_any);
  };
  const float nan = std::nanf(""), infinity = HUGE_VALF;
  const bench::Comparison right = compare_with({7, -7, 1.5f, 2, 3, 3, 3, infinity});
  CHECK((right.right() && right.count == 8 && right.max_error == 0.5));

  // Wrong: NaN in the first known row, a number in the last. Then also what nobody knows.
  const bench::Comparison wrong = compare_with({7, 7, nan, 2, 3, 3, 2.75f, infinity});
  CHECK(wrong.describe() == "2 of 8 wrong, the first at 2: expected 1, got NaN");
  CHECK(std::isnan(wrong.max_error));
  const bench::Comparison early = compare_with({7, infinity, nan, 2, nan, 3, 2.75f, infinity});
  CHECK(early.describe() == "4 of 8 wrong, the first at 1: expected 0, got inf");

  known.value[0] = nan;  // may be anything, if the caller says so
  CHECK(compare_with({7, 7, 9, 2, 3, 3, 2.75f, infinity}).wrong == 2);
  const bench::Comparison any = compare_with({7, nan, 9, 2, 3, 3, 2.75f, infinity}, true);
  CHECK((any.wrong == 2 && any.max_error == 0.25));

  left.reset(bench::Side::host);  // to the poison
  CHECK(known.compare(left, 2).unwritten == 8);

  bench::Comparison in_any_order;
  for (const int at : {5, 3, 4}) attention::add_element(in_any_order, at, 0, 1.0f + at, 0.5);
  CHECK((in_any_order.first_wrong == 3 && in_any_order.actual == 4 && in_any_order.wrong == 3));
}

TEST_CASE("decode: scores of 10000 stay finite and right") {
  const auto ladder = decode::decode_ladder<Bf16>();
  const auto device = bench::query_device();
  const bench::WorkStream stream(device);
  for (const auto& variant : ladder.variants) {
    INFO(variant.name);
    const auto problem = ladder.make_problem(sizes(1, 4, 1, 130, 0));
    for (int i = 0; i < problem->q.size(); ++i) {
      Bf16& q = problem->q.pristine()[i];
      q = Bf16(2500 * static_cast<float>(q));
    }
    problem->compute_reference();
    CHECK(tests::verify(*problem, variant, device, stream.get()).status != bench::Status::wrong);
  }
}

TEST_CASE("decode: the same bits in every run") {
  const bool real = bench::query_device().is_real_gpu();
  check_bits(decode::decode_ladder<Bf16>(),
             real ? sizes(3, 32, 8, 2000, 1) : sizes(1, 4, 1, 200, 0));
  check_bits(decode::decode_paged_ladder<Bf16>(), real ? pages(sizes(30, 32, 8, 2000, 1), 16, 0, 1)
                                                       : pages(sizes(3, 4, 1, 150, 0), 16, 0, 1));
}

TEST_CASE("decode: two streams at once do not disturb each other") {
  const auto device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const auto ladder = decode::decode_paged_ladder<Bf16>();
  const bench::WorkStream one(device), two(device);
  const std::int64_t n = device.is_real_gpu() ? 5000 : 150;
  const auto a = ladder.make_problem(pages(sizes(2, 4, 1, n, 0), 16, 0, 1));
  const auto b = ladder.make_problem(pages(sizes(3, 8, 2, n, 0), 16, 0, 1));
  for (const auto& rung : ladder.variants) {
    if (!bench::why_skipped(rung, device).empty() || rung.place != bench::Place::device) continue;
    if (rung.kind == bench::Kind::yardstick) continue;
    INFO(rung.name);
    for (auto* problem : {&*a, &*b}) {
      problem->each_array([](auto& array) { array.reset(bench::Side::device); });
    }
    CUDA_CHECK(cudaDeviceSynchronize());
    for (int run = 0; run < (device.is_real_gpu() ? 50 : 2); ++run) {
      rung.run(*a, one.get());
      rung.run(*b, two.get());
    }
    CUDA_CHECK(cudaDeviceSynchronize());
    for (auto* problem : {&*a, &*b}) {
      problem->each_array([](auto& array) { array.fetch(bench::Side::device); });
      CHECK(problem->check().right());
    }
  }
}

TEST_CASE("decode: chunks fill the waves, and are no more than that takes") {
  const auto count = [](std::int64_t work_tiles, int n, int resident) {
    return kit::divide_up(n, decode::choose_keys(work_tiles, n, resident));
  };
  CHECK(count(1, 1, 264) == 1);
  CHECK(count(1, 64, 264) == 1);      // a chunk has 64 keys at least
  CHECK(count(8, 1024, 264) == 16);   // and all chunks together less than a wave
  CHECK(count(264, 4096, 264) == 1);  // a wave is full already
  CHECK(count(100'000, 4096, 264) == 1);
  CHECK(count(265, 65'536, 264) == 3);  // one block too many would cost a wave of two
  for (const std::int64_t work_tiles : {1, 3, 8, 100, 200, 300, 1000}) {
    for (const int n : {1, 63, 64, 65, 1000, 4096, 131'072}) {
      INFO(work_tiles << " work tiles, " << n << " keys");
      const int keys = decode::choose_keys(work_tiles, n, 264);
      CHECK(keys % decode::kLeastKeys == 0);
      CHECK(keys >= decode::kLeastKeys);
      const double waves = static_cast<double>(work_tiles) * kit::divide_up(n, keys) / 264;
      if (n >= 65'536) CHECK(waves / std::ceil(waves) > 0.7);
    }
  }
  // Sixteen chunks keep 128 of 132 SMs at work; 33 would fill two waves, and leave more to merge.
  CHECK(decode::choose_keys(8, 16'384, 132) == 1024);
}

TEST_CASE("decode: clusters are as large as fit at once") {
  // A chip that holds 132 blocks, or 66, 30 and 14 clusters of two, four and eight.
  const auto chosen = [](std::int64_t work_tiles, int most) {
    return decode::choose_cluster(work_tiles, most, {0, 132, 66, 0, 30, 0, 0, 0, 14});
  };
  CHECK(chosen(8, 8) == 8);
  CHECK(chosen(8, 2) == 2);    // short caches
  CHECK(chosen(16, 8) == 4);   // of eight blocks only fourteen clusters fit
  CHECK(chosen(128, 8) == 1);  // 128 SMs are at work
  CHECK(chosen(64, 8) == 2);
  CHECK(chosen(96, 8) == 1);
  CHECK(chosen(136, 8) == 1);  // two work tiles a block; three for a cluster of two
  CHECK(chosen(512, 8) == 1);
  CHECK(decode::choose_cluster(1, 8, {0, 3, 1}) == 2);  // of four none fits
}

TEST_CASE("decode: the work list has every chunk once, whole ones first, then the longest rests") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const std::vector<int> lengths = {0, 70, 640, 1, 128, 511, 300, 2000, 64, 129, 7, 250, 400};
  const int batch = static_cast<int>(lengths.size()), capacity = 100;
  const kit::DeviceBuffer<int> d_lengths(batch), sizes(2), first(batch);
  const kit::DeviceBuffer<int2> items(capacity);
  CUDA_CHECK(cudaMemcpy(d_lengths.data(), lengths.data(), d_lengths.bytes(), cudaMemcpyDefault));
  const decode::Cache cache{d_lengths.data(), nullptr, 16, 0, 1 << 20};
  decode::plan_kernel<<<1, decode::kPlanThreads>>>(
      {sizes.data(), sizes.data() + 1, items.data(), first.data()}, cache, batch, 16);
  CUDA_CHECK(cudaGetLastError());
  int keys = 0, count = 0;
  CUDA_CHECK(cudaMemcpy(&keys, sizes.data(), sizeof keys, cudaMemcpyDefault));
  CUDA_CHECK(cudaMemcpy(&count, sizes.data() + 1, sizeof count, cudaMemcpyDefault));
  REQUIRE(keys > 64);  // so that rests differ
  REQUIRE(count <= capacity);
  std::vector<int2> list(count);
  CUDA_CHECK(cudaMemcpy(list.data(), items.data(), count * sizeof(int2), cudaMemcpyDefault));

  std::set<std::pair<int, int>> seen;
  int shortest = keys;
  for (const int2& item : list) {
    INFO("part " << item.y << " of sequence " << item.x);
    const int length = std::min(keys, lengths.at(item.x) - item.y * keys);
    CHECK((item.y == 0 ? length >= 0 : length > 0));
    CHECK(seen.emplace(item.x, item.y).second);
    CHECK(length < shortest + keys / decode::kRests);  // rests of one class come in any order
    if (length == keys) CHECK(shortest == keys);
    shortest = std::min(shortest, length);
  }
  int parts = 0;
  for (const int length : lengths) parts += std::max(1, kit::divide_up(length, keys));
  CHECK(count == parts);
}

TEST_CASE("decode: one wave where it leaves few SMs without a block, or chunks cannot be smaller") {
  const auto keys = [](std::int64_t work_tiles, int n) {
    return decode::choose_keys_of_one_wave(work_tiles, n, 132);
  };
  CHECK(keys(8, 1024) == 64);
  CHECK(keys(8, 16'384) == 1024);
  CHECK(keys(24, 4096) == 832);  // five chunks; eleven would fill two waves
  CHECK(keys(72, 4096) == 4096);
  CHECK(keys(133, 4096) == 4096);
  CHECK(keys(8, 1) == 64);

  const auto suits = [](std::int64_t kv_heads, int n) {
    return decode::suits_one_wave({1, 4 * kv_heads, kv_heads, n, 128}, 132);
  };
  CHECK(suits(8, 1024));
  CHECK(suits(1, 1));
  CHECK(suits(24, 4096));        // 120 blocks
  CHECK_FALSE(suits(56, 4096));  // 112
  CHECK(suits(56, 64));          // there is nothing to cut
  CHECK_FALSE(suits(72, 4096));
  CHECK(suits(119, 4096));
  CHECK(suits(132, 4096));
  CHECK_FALSE(suits(133, 4096));
}

TEST_CASE("decode: a block alone on an SM has more warps, if it has stages or rows for them") {
  const int sms = kit::multiprocessor_count();
  const auto warps = [](std::int64_t blocks, int keys, int rows) {
    int count = 0;
    decode::with_warps<64, decode::kTensorRows>(blocks, keys, rows, [&](int n) { count = n; });
    return count;
  };
  CHECK(warps(sms + 1, 4096, 8) == 5);
  CHECK(warps(sms, 64, 4) == 5);
  // 80 KB are more than some devices have.
  const int many = kit::most_shared() >= 80 * 1024 ? 10 : 5;
  CHECK(warps(sms, 128, 4) == many);
  CHECK(warps(sms, 64, 8) == many);
}

TEST_CASE("decode: the chooser says whom it took") {
  const auto device = bench::query_device();
  const bench::WorkStream stream(device);
  const auto taken = [&](const auto& ladder, const Given& given) -> std::string {
    const auto problem = ladder.make_problem(given);
    const auto& chooser = tests::variant_named(ladder.variants, "chosen");
    const auto verdict = tests::verify(*problem, chooser, device, stream.get());
    if (verdict.status == bench::Status::skipped) return "skipped";
    REQUIRE(verdict.status == bench::Status::right);
    return chooser.chose(*problem);
  };
  if (!device.available || device.compute_capability() < 80) SKIP_TEST("needs sm_80");
  const auto dense = decode::decode_ladder<Bf16>();
  const bool stays =
      device.compute_capability() >= 90 && kit::most_shared() >= decode::kHopperShared;
  CHECK(taken(dense, sizes(1, 4, 1, 40, 0)) == (stays ? "programmatic_launch" : "tensor"));
  CHECK(taken(dense, sizes(32, 16, 16, 5, 0)) == (stays ? "persistent" : "tensor"));
  if (kit::most_shared() >= static_cast<int>(sizeof(decode::RingShared<256, 16>))) {
    CHECK(taken(dense, sizes(32, 16, 16, 5, 2)) == "tensor");
  }
  const auto paged = decode::decode_paged_ladder<Bf16>();
  CHECK(taken(paged, pages(sizes(1, 4, 1, 40, 0), 16, 0, 0)) ==
        (stays ? "early_lookups" : "paged"));
  CHECK(taken(paged, pages(sizes(2, 4, 1, 40, 0), 16, 0, 0)) == "work_list");
  CHECK(taken(paged, pages(sizes(2, 4, 1, 40, 0), 16, 39, 0)) ==
        (stays ? "early_lookups" : "paged"));
  CHECK(taken(paged, pages(sizes(2, 4, 1, 40, 0), 16, 40, 0)) == "work_list");
}

TEST_CASE("decode: bytes and instructions, as the lesson says") {
#ifndef SIMT_INSTRUMENTED
  SKIP_TEST("counters need simt");
#else
  const auto device = bench::query_device();
  constexpr std::int64_t n = 256, d = 64, heads = 8, kv_heads = 2;
  const auto ladder = decode::decode_ladder<Bf16>();
  const auto problem = ladder.make_problem(sizes(1, heads, kv_heads, n, 0));
  const std::uint64_t of_caches = 2 * kv_heads * n * d * sizeof(Bf16);
  const auto profile_of = [&](const std::string& name) {
    simt::profile_reset();
    REQUIRE(tests::verify(*problem, tests::variant_named(ladder.variants, name), device, nullptr)
                .status == bench::Status::right);
    return simt::profile(name == "prefill_kernel" ? name : name + "_kernel");
  };
  const auto moved = [&](const std::string& name) {
    return profile_of(name).global.load_bytes_moved();
  };
  const std::uint64_t of_queries = heads * d * sizeof(Bf16);
  // A query head each: the caches are read as often as there are heads in a group.
  CHECK(moved("row_per_warp") == 4 * of_caches + of_queries);
  CHECK(moved("vectorized") == 4 * of_caches + of_queries);
  CHECK(moved("prefill_kernel") == 4 * of_caches + of_queries);
  // A K/V head each: once, and the queries once a warp.
  CHECK(moved("group") == of_caches + 4 * of_queries);
  const auto split = profile_of("split");
  CHECK(split.global.load_bytes_moved() == of_caches + 4 * 4 * of_queries);  // four chunks
  CHECK(profile_of("row_per_warp").global.load_sectors_per_request() == 4);
  CHECK(profile_of("vectorized").global.load_sectors_per_request() > 15);  // 16, but for queries
  // 31 of 32 rows of a tile of queries are zeros.
  CHECK(profile_of("prefill_kernel").instructions > 10 * profile_of("row_per_warp").instructions);
  CHECK(profile_of("last_block_merges").atomics.global_lanes == 4 * kv_heads);  // a draw a block
  CHECK(profile_of("group").atomics.global_lanes == 0);
  // Clusters of two read the caches once; their sixteen warps read the queries, a sector in two
  // halves. No ticket is drawn.
  const auto persistent = profile_of("persistent");
  CHECK(persistent.global.load_bytes_moved() == of_caches + 2 * 16 * of_queries);
  CHECK(persistent.atomics.global_lanes == 0);
  // A warp's eight rows lie in different banks: two wavefronts for 256 bytes.
  CHECK(profile_of("tensor").shared.store_conflict_degree() < 1.1);
#endif
}

TEST_CASE("decode: what lies outside the window is not read") {
#ifndef SIMT_INSTRUMENTED
  SKIP_TEST("counters need simt");
#else
  const auto ladder = decode::decode_paged_ladder<Bf16>();
  const auto device = bench::query_device();
  const auto numbers_read = [&](std::int64_t n, std::int64_t window) {
    const auto problem = ladder.make_problem(pages(sizes(1, 4, 1, n, 0), 16, window, 0));
    simt::profile_reset();
    REQUIRE(tests::verify(*problem, tests::variant_named(ladder.variants, "paged"), device, nullptr)
                .status == bench::Status::right);
    return simt::profile("paged_kernel").global.load_bytes_moved();
  };
  CHECK(numbers_read(640, 128) == numbers_read(128, 128));
  CHECK(numbers_read(640, 640) > 4 * numbers_read(640, 128));
#endif
}
