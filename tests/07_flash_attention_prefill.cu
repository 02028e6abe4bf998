// Chapter 07, prefill: every variant is right for sequences of any lengths in one batch, with any
// number of heads that share keys, with and without a mask and a window; what lies in a
// neighbouring sequence changes nothing; and what the lesson says of tiles, of the list and of what
// is loaded.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "07_flash_attention/prefill/ladder.cu"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "tests/by_itself.hpp"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/verify.hpp"

#if __has_include("simt/profile.h")
#include "simt/profile.h"
#endif

using namespace prefill;

namespace {

struct Case {
  int heads, kv_heads, d;
  bool causal;
  int window;
  Lengths lengths;  // no lengths of keys: those of the queries
  int longest = 0;  // what is said of the longest one, if not the truth
};

std::unique_ptr<Prefill> problem_of(Case given) {
  Lengths& lengths = given.lengths;
  if (lengths.k.empty()) lengths.k = lengths.q;
  const Shape shape{0, given.heads, given.kv_heads, 0, 0, 0, given.d, given.causal, given.window};
  auto problem =
      std::make_unique<Prefill>(shape, lengths, 7, true, bench::query_device().is_real_gpu());
  if (given.longest > 0) problem->shape.longest = given.longest;
  return problem;
}

// Lengths of 0 and 1, a tile and one more or less; more keys than queries, and fewer; groups of 1,
// 2, 3, 4, 8 and all heads; windows of one key, within a tile, of a tile and one more, beyond the
// sequence. Three tiles of keys, so that every stage of a pipeline is filled again.
const std::vector<Case> kCases = {
    {1, 1, 64, true, 0, {{1}, {}}},
    {2, 1, 128, true, 0, {{0, 1, 33, 0, 128, 5, 0}, {}}},
    {4, 1, 64, true, 0, {{63, 64, 65, 130}, {}}},
    {3, 1, 64, false, 0, {{40, 17, 129}, {}}},
    {4, 2, 128, false, 0, {{50, 1, 20}, {129, 0, 33}}},
    {2, 2, 64, true, 0, {{20, 70, 9}, {150, 90, 9}}},
    {2, 1, 128, true, 0, {{70, 140, 3}, {20, 130, 0}}},
    {8, 1, 64, true, 0, {{30, 2, 61}, {}}},
    {8, 1, 128, true, 64, {{18, 150, 5}, {18, 200, 2}}},
    {2, 1, 64, true, 1, {{3, 70}, {}}},
    {1, 1, 128, true, 5, {{140, 30}, {}}},
    {2, 1, 64, true, 129, {{20, 30}, {420, 340}}},
    {2, 2, 128, true, 64, {{10, 300}, {390, 300}}},
    {2, 1, 64, true, 1000, {{70, 130}, {}}},
    {4, 2, 64, false, 100, {{130, 25}, {300, 40}}},
    {2, 2, 64, false, 5, {{150, 9}, {100, 9}}},
    {2, 1, 256, true, 0, {{70, 3, 20}, {}}},
    {4, 1, 256, true, 40, {{33, 60}, {100, 60}}},
    // Whole tiles without keys, the last of them where K ends; and no keys at all.
    {2, 2, 128, true, 0, {{130, 5, 200, 9}, {0, 5, 20, 0}}},
    {2, 1, 64, true, 0, {{300, 9}, {3, 0}}},
    {2, 1, 128, false, 0, {{5, 9}, {0, 0}}},
    // The tiles that early_scores takes where sequences may be longer.
    {2, 1, 128, false, 0, {{128, 128}, {}}},
    {2, 1, 128, true, 0, {{70, 3}, {}}, 600},
    {2, 2, 64, true, 0, {{70, 3}, {}}, 1500},
    {2, 1, 64, true, 0, {{70, 3}, {}}, 3000},
    {2, 2, 128, true, 0, {{128, 60, 1, 65}, {}}},
    {2, 1, 256, true, 0, {{70, 5, 20}, {3, 0, 20}}},
};

// For each case its problem, made when a section first asks for it, and never destroyed: see
// tests::ProblemsOf.
using Problems = std::vector<std::unique_ptr<Prefill>>;
template <class Make>
Prefill& made_once(Problems& problems, std::size_t i, Make make) {
  if (problems.size() <= i) problems.resize(i + 1);
  if (!problems[i]) problems[i] = make();
  problems[i]->forget_scratch();
  return *problems[i];
}

std::vector<Case> cases_for_this_machine() {
  auto cases = kCases;
  if (!bench::query_device().is_real_gpu()) return cases;
  for (const int d : {64, 128, 256}) {
    cases.push_back({32, 8, d, true, 0, lengths_of(40, 2048, 2048, true, 3)});
    cases.push_back({14, 2, d, true, 300, lengths_of(9, 1500, 2500, true, 4)});
    cases.push_back({16, 16, d, false, 0, lengths_of(5, 700, 700, true, 5)});
  }
  cases.push_back({2, 1, 64, true, 0, {std::vector<int>(60'000, 3), {}}});
  return cases;
}

std::string bits_of_sequence(const Prefill& problem, int i) {
  const Sequence sequence = problem.pristine_starts().sequence(i);
  const std::int64_t row = std::int64_t{problem.shape.heads} * problem.shape.d;
  return {reinterpret_cast<const char*>(problem.o.fetched() + sequence.first_q * row),
          static_cast<std::size_t>(sequence.n_q * row) * sizeof(Element16)};
}

// Fills what belongs to a sequence.
void fill_sequence(Prefill& problem, int i, float value) {
  const Sequence sequence = problem.pristine_starts().sequence(i);
  const auto fill = [&](auto& array, int first, int count, int heads) {
    const std::int64_t row = std::int64_t{heads} * problem.shape.d;
    std::fill_n(array.pristine() + first * row, count * row, Element16(value));
  };
  fill(problem.q, sequence.first_q, sequence.n_q, problem.shape.heads);
  fill(problem.k, sequence.first_k, sequence.n_k, problem.shape.kv_heads);
  fill(problem.v, sequence.first_k, sequence.n_k, problem.shape.kv_heads);
}

}  // namespace

TEST_CASE("prefill: every variant is right for sequences of any lengths") {
  const auto device = bench::query_device();
  const bench::WorkStream stream(device);
  static auto& kept = *new Problems;
  const auto cases = cases_for_this_machine();
  for (const auto& variant : ladder().variants) {
    DYNAMIC_SECTION("prefill/" << variant.name) {
      for (std::size_t i = 0; i < cases.size(); ++i) {
        Prefill& problem = made_once(kept, i, [&] { return problem_of(cases[i]); });
        if (variant.place == bench::Place::cpu && problem.flops() > 2e9) continue;
        const auto verdict = tests::verify(problem, variant, device, stream.get());
        INFO(tests::text_of(problem.sizes()) << ": " << verdict.reason);
        if (verdict.status == bench::Status::skipped) SKIP_SECTION(verdict.reason);
        REQUIRE(verdict.status == bench::Status::right);
      }
    }
  }
}

TEST_CASE("prefill: what lies in the neighbouring sequences changes no bit") {
  const auto device = bench::query_device();
  const bench::WorkStream stream(device);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {1.0f, nan, infinity};
  static auto& kept = *new Problems;
  for (const auto& variant : ladder().variants) {
    DYNAMIC_SECTION("prefill/" << variant.name) {
      // Ends within a tile of queries, and of keys, of which the next ones have the rest.
      const Case given{4, 2, 64, true, 0, {{30, 70, 21, 40}, {}}};
      std::string before[2];
      for (std::size_t at = 0; at < values.size(); ++at) {
        INFO("the neighbours are " << values[at]);
        Prefill& problem = made_once(kept, at, [&] {
          auto made = problem_of(given);
          for (const int neighbour : {0, 2}) fill_sequence(*made, neighbour, values[at]);
          made->compute_reference();
          return made;
        });
        const auto verdict = tests::verify(problem, variant, device, stream.get());
        if (verdict.status == bench::Status::skipped) SKIP_SECTION(verdict.reason);
        INFO(verdict.reason);
        REQUIRE(verdict.status == bench::Status::right);
        for (const int i : {0, 1}) {
          const std::string bits = bits_of_sequence(problem, 1 + 2 * i);
          if (before[i].empty()) before[i] = bits;
          CHECK(bits == before[i]);
        }
      }
    }
  }
}

TEST_CASE("prefill: queries without keys give zeros beside values that are not numbers") {
  const auto device = bench::query_device();
  const bench::WorkStream stream(device);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  static auto& kept = *new Problems;
  for (const auto& variant : ladder().variants) {
    DYNAMIC_SECTION("prefill/" << variant.name) {
      Prefill& problem = made_once(kept, 0, [&] {
        auto made = problem_of({2, 1, 64, true, 0, {{20, 30, 20}, {20, 0, 5}}});
        fill_sequence(*made, 0, nan);
        made->compute_reference();
        return made;
      });
      const auto verdict = tests::verify(problem, variant, device, stream.get());
      if (verdict.status == bench::Status::skipped) SKIP_SECTION(verdict.reason);
      INFO(verdict.reason);
      REQUIRE(verdict.status == bench::Status::right);
    }
  }
}

TEST_CASE("prefill: early_scores goes on to a fifth tile of queries and further") {
  if (tests::ran_on_a_smaller_gpu(1)) return;
  const auto device = bench::query_device();
  const bench::WorkStream stream(device);
  const auto rungs = ladder().variants;
  const auto& variant = tests::variant_named(rungs, "early_scores");
  const std::string reason = bench::why_skipped(variant, device);
  if (!reason.empty()) SKIP_TEST(reason);
  const Lengths lengths = lengths_of(5 * kit::multiprocessor_count(), 9, 9, true, 3);
  for (const int d : {64, 128}) {
    const auto problem = problem_of({2, 1, d, true, 0, lengths});
    const auto verdict = tests::verify(*problem, variant, device, stream.get());
    INFO(verdict.reason);
    REQUIRE(verdict.status == bench::Status::right);
  }
}

TEST_CASE("prefill: what is not a number is not hidden") {
  const auto device = bench::query_device();
  const bench::WorkStream stream(device);
  static auto& kept = *new Problems;
  for (const auto& variant : ladder().variants) {
    DYNAMIC_SECTION("prefill/" << variant.name) {
      Prefill& problem = made_once(kept, 0, [&] {
        auto made = problem_of({2, 1, 64, true, 0, {{20, 30}, {}}});
        fill_sequence(*made, 1, std::numeric_limits<float>::quiet_NaN());
        made->compute_reference();
        return made;
      });
      const auto verdict = tests::verify(problem, variant, device, stream.get());
      if (verdict.status == bench::Status::skipped) SKIP_SECTION(verdict.reason);
      REQUIRE(verdict.status == bench::Status::right);
      const std::int64_t row = std::int64_t{problem.shape.heads} * problem.shape.d;
      CHECK(std::isnan(static_cast<float>(problem.o.fetched()[50 * row - 1])));
    }
  }
}

TEST_CASE("prefill: all work is in the stream that was given") {
  tests::every_launch_is_in_its_stream(
      ladder(), {{"batch", 2}, {"n", 70}, {"heads", 4}, {"d", 64}, {"causal", 1}, {"ragged", 1}});
}

TEST_CASE("prefill: tiles of keys are those that the queries see") {
  constexpr int kTileN = 8;
  int wrong = 0;
  for (const int n_q : {1, 5, 20}) {
    for (const int n_k : {0, 3, 20, 41}) {
      for (const int window : {0, 1, 8, 13, 100}) {
        for (const bool causal : {false, true}) {
          const Visibility seen{n_q, n_k, window, causal};
          for (int first = 0; first < n_q; first += 3) {
            const int last = std::min(first + 5, n_q - 1);
            const KeyTiles tiles = key_tiles<kTileN>(seen, first, last);
            for (int tile = 0; tile * kTileN < n_k + kTileN; ++tile) {
              bool any = false, all = true;
              for (int query = first; query <= last; ++query) {
                for (int key = tile * kTileN; key < (tile + 1) * kTileN; ++key) {
                  const int own = query + n_k - n_q;
                  const bool sees =
                      key < n_k && (!causal || key <= own) && (window == 0 || key > own - window);
                  any = any || sees;
                  all = all && sees;
                }
              }
              if (any) wrong += tile < tiles.begin || tile >= tiles.end;
              if (tile >= tiles.full_begin && tile < tiles.full_end) wrong += !all;
              // Nothing is loaded, or masked, for nobody.
              if (!any) wrong += tile >= tiles.begin && tile < tiles.end;
              if (all) wrong += tile < tiles.full_begin || tile >= tiles.full_end;
            }
          }
        }
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("prefill: the list has every tile of queries once, those with most keys last") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr int kTileN = 16, kQueries = 8;
  for (const int window : {0, 40}) {
    const auto problem = problem_of(
        {1, 1, 64, true, window, {{0, 70, 1, 8, 300, 0, 129, 64}, {5, 90, 0, 8, 300, 3, 10, 640}}});
    problem->each_array([](auto& array) { array.reset(bench::Side::device); });
    const TileList list = make_tile_list<kTileN>(problem->shape, problem->device_starts(), kQueries,
                                                 problem->workspace, nullptr);
    int count = 0;
    CUDA_CHECK(cudaMemcpy(&count, list.count, sizeof count, cudaMemcpyDefault));
    REQUIRE(count <= most_query_tiles(problem->shape, kQueries));
    std::vector<QueryTile> tiles(count);
    CUDA_CHECK(cudaMemcpy(tiles.data(), list.tiles, count * sizeof(QueryTile), cudaMemcpyDefault));
    std::vector<std::tuple<int, int, int, int, int>> found, expected;
    int before = 0, out_of_order = 0;
    for (const QueryTile& tile : tiles) {
      const auto& [first_q, n_q, first_k, n_k] = tile.sequence;
      found.emplace_back(first_q, n_q, first_k, n_k, tile.first_query);
      const int last = std::min(tile.first_query + kQueries, n_q) - 1;
      const KeyTiles keys =
          key_tiles<kTileN>(problem->shape.visibility(tile.sequence), tile.first_query, last);
      out_of_order += keys.end - keys.begin < before;
      before = keys.end - keys.begin;
    }
    for (int i = 0; i < problem->shape.batch; ++i) {
      const Sequence of = problem->pristine_starts().sequence(i);
      for (int first = 0; first < of.n_q; first += kQueries) {
        expected.emplace_back(of.first_q, of.n_q, of.first_k, of.n_k, first);
      }
    }
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    CHECK(found == expected);
    CHECK(out_of_order == 0);
  }
}

TEST_CASE("prefill: heads lie side by side where a group has an even number of them") {
  const auto heads = [](int heads, int kv_heads) {
    return 1 << log2_of_heads({1, heads, kv_heads, 1, 1, 1, 64, true, 0});
  };
  CHECK(heads(8, 8) == 1);
  CHECK(heads(6, 2) == 1);
  CHECK(heads(12, 2) == 2);
  CHECK(heads(32, 8) == 4);
  CHECK(heads(28, 1) == 4);
  CHECK(heads(64, 1) == 8);
}

TEST_CASE("prefill: tiles before the window are not loaded, and heads share tiles") {
#ifndef SIMT_INSTRUMENTED
  SKIP_TEST("counters need simt");
#else
  const auto device = bench::query_device();
  const auto loaded = [&](const std::string& name, const Case& given) {
    const auto problem = problem_of(given);
    simt::profile_reset();
    REQUIRE(tests::verify(*problem, tests::variant_named(ladder().variants, name), device, nullptr)
                .status == bench::Status::right);
    return static_cast<int>(simt::profile(name + "_kernel").beside.tma_load_bytes / (128 * 64 * 2));
  };
  // 32 queries at the end of 640 keys: five tiles of K and of V, and a tile of queries, which
  // counts for one and a half, for each of two heads.
  const Case long_keys{2, 2, 64, true, 0, {{32}, {640}}}, window{2, 2, 64, true, 97, {{32}, {640}}};
  CHECK(loaded("packed", long_keys) == 2 * 10 + 3);
  CHECK(loaded("packed", window) == 2 * 10 + 3);
  CHECK(loaded("windowed", long_keys) == 2 * 10 + 3);
  CHECK(loaded("windowed", window) == 2 * 2 + 3);  // keys 512 to 639
  // Of eight heads that share keys all have one tile: of 256 rows, with tiles of 64 keys, as the
  // sequences are short.
  const Case shared{8, 1, 64, true, 0, {{20, 24}, {}}};
  CHECK(loaded("windowed", shared) == 8 * (2 * 2 + 3));
  CHECK(loaded("grouped", shared) == 2 * (1 + 2));
  CHECK(loaded("early_scores", shared) == 2 * (1 + 2));
#endif
}

TEST_CASE("prefill: lengths of a batch") {
  const Lengths even = lengths_of(3, 100, 140, false, 1);
  CHECK(even.q == std::vector<int>{100, 100, 100});
  CHECK(even.k == std::vector<int>{140, 140, 140});
  const Lengths ragged = lengths_of(1000, 6400, 6000, true, 1);
  CHECK(ragged.q[0] == 6400);
  CHECK(*std::min_element(ragged.q.begin(), ragged.q.end()) >= 100);
  CHECK(ragged.longest() == 6400);
  int wrong = 0, short_ones = 0;
  for (std::size_t i = 0; i < ragged.q.size(); ++i) {
    wrong += ragged.k[i] != std::max(0, ragged.q[i] - 400);
    short_ones += ragged.q[i] < 800;
  }
  CHECK(wrong == 0);
  CHECK(short_ones > 420);  // half of them, about
  CHECK(short_ones < 580);
}

TEST_CASE("prefill: the chooser says whom it took") {
  const auto device = bench::query_device();
  if (!device.available || device.compute_capability() < 80) SKIP_TEST("needs sm_80");
  const bench::WorkStream stream(device);
  const auto of_ladder = ladder();
  const auto& chooser = tests::variant_named(of_ladder.variants, "chosen");
  const auto taken = [&](const Case& given) {
    const auto problem = problem_of(given);
    REQUIRE(tests::verify(*problem, chooser, device, stream.get()).status == bench::Status::right);
    return chooser.chose(*problem);
  };
  const bool hopper = device.compute_capability() == 90;
  CHECK(taken({2, 1, 64, true, 0, {{5, 3}, {}}}) == (hopper ? "early_scores" : "padded"));
}
