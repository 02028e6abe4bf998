// Chapter 07, ring attention: every way is right for 2 to 8 devices, with and without a mask, also
// for tokens that the devices cannot share evenly, and when calls follow one another without a wait
// between. What each rank computes and sends is what the lesson says. Without a GPU simt has eight
// of them, and its checks look on.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "07_flash_attention/ring/ladder.cu"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "tests/by_itself.hpp"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/verify.hpp"

using namespace ring_attention;

namespace {

std::vector<int> teams(std::initializer_list<int> wanted) {
  std::vector<int> sizes;
  for (const int size : wanted) {
    if (size <= devices_here()) sizes.push_back(size);
  }
  return sizes;
}

// The rungs for several devices; chosen takes one of them.
bench::Ladder<Problem> rungs() {
  bench::Ladder<Problem> some = ladder();
  auto& variants = some.variants;
  variants.erase(std::remove_if(variants.begin(), variants.end(),
                                [](const auto& variant) {
                                  return variant.place == bench::Place::cpu ||
                                         variant.kind != bench::Kind::rung;
                                }),
                 variants.end());
  return some;
}
constexpr int kRungs = 5;

// Devices that own nothing, chunks of one token, and shards of one row more than two tiles of 64
// rows or one of 128.
void is_right_everywhere() {
  std::vector<bench::Settings::Given> sizes;
  const auto add = [&](int devices, std::int64_t n, std::int64_t d, std::int64_t heads) {
    for (const std::int64_t causal : {0, 1}) {
      sizes.push_back(
          {{"devices", devices}, {"n", n}, {"d", d}, {"heads", heads}, {"causal", causal}});
    }
  };
  for (const int devices : teams({3, 4, 8})) add(devices, 9, 64, 1);
  for (const int devices : teams({2})) {
    add(devices, 1, 64, 1);
    add(devices, 9, 64, 3);  // more tiles than blocks
    add(devices, 258, 128, 1);
    add(devices, 262, 64, 1);
  }
  tests::every_variant_is_right(rungs(), sizes);
}

// Shards that come in pieces of one head, one, two, ..., and several tiles in each part of a
// window.
void comes_in_pieces() {
  for (const int devices : teams({2, 4})) {
    Problem problem({1, 5, 500, 500, 64, true}, devices, 3, false);
    problem.each_array([](auto& array) { array.reset(bench::Side::device); });
    Team<Element> team = problem.team(true);
    team.first_piece = 1;
    ring_attention_fused_steps(team);
    for_each_rank(team.devices,
                  [](int, cudaStream_t stream) { CUDA_CHECK(cudaStreamSynchronize(stream)); });
    problem.each_array([](auto& array) {
      array.fetch(bench::Side::device);
      CHECK(array.damage() == "");
    });
    CHECK(problem.check(true).describe() == "right");
    CHECK(tests::simt_said() == "");
  }
}

// One call after the other in the streams of the team.
void runs_ahead() {
  for (const int devices : teams({2, 4})) {
    Problem problem({1, 1, 83, 83, 64, true}, devices, 3, false);
    problem.each_array([](auto& array) { array.reset(bench::Side::device); });
    const auto contiguous = problem.team(false), zigzag = problem.team(true);
    for (int call = 0; call < 2; ++call) {
      ring_attention_gather(contiguous);
      ring_attention_wgmma(zigzag);
      ring_attention_fused_steps(zigzag);
      ring_attention_ring(contiguous);
      ring_attention_zigzag(zigzag);
    }
    for_each_rank(contiguous.devices,
                  [](int, cudaStream_t stream) { CUDA_CHECK(cudaStreamSynchronize(stream)); });
    problem.each_array([](auto& array) {
      array.fetch(bench::Side::device);
      CHECK(array.damage() == "");
    });
    CHECK(problem.check(false).describe() == "right");
    CHECK(problem.check(true).describe() == "right");
    CHECK(tests::simt_said() == "");
  }
}

}  // namespace

TEST_CASE("ring_attention: every way on several devices", "[.]") { is_right_everywhere(); }
TEST_CASE("ring_attention: calls run ahead", "[.]") { runs_ahead(); }
TEST_CASE("ring_attention: a shard comes in pieces on several devices", "[.]") {
  comes_in_pieces();
}
TEST_CASE("ring_attention: every launch is in its stream on several devices", "[.]") {
  tests::every_launch_is_in_its_stream(
      rungs(), {{"n", 70}, {"heads", 1}, {"devices", 3}, {"causal", 1}, {"d", 64}});
}

#if SIMT_INSTRUMENTED
// What all devices together send.
TEST_CASE("ring_attention: bytes over the links", "[.]") {
  for (const int size : teams({2, 3})) {
    for (const bool causal : {false, true}) {
      Problem problem({1, 1, 24, 24, 64, causal}, size, 3, false);
      problem.each_array([](auto& array) { array.reset(bench::Side::device); });
      const auto counted = [&](bool is_zigzag, void (*rung)(const Team<Element>&)) {
        const Team<Element> team = problem.team(is_zigzag);
        simt::profile_reset();
        rung(team);
        for_each_rank(team.devices,
                      [](int, cudaStream_t stream) { CUDA_CHECK(cudaStreamSynchronize(stream)); });
        simt::profile_stop();
        return simt::profile("").beside;
      };
      INFO(size << " devices, causal: " << causal);
      const double all = 2.0 * 24 * 64 * sizeof(Element);  // K and V of all tokens
      const double once = all * (size - 1);
      const double flags = size * sizeof(unsigned);  // a piece for each rank, which has one head
      CHECK(counted(false, ring_attention_ring).link_written_bytes == once);
      CHECK(counted(true, ring_attention_zigzag).link_written_bytes == once);
      CHECK(counted(true, ring_attention_wgmma).link_written_bytes == once);
      CHECK(counted(true, ring_attention_fused_steps).link_written_bytes == once + flags);
      CHECK(counted(false, ring_attention_gather).link_written_bytes == (causal ? once / 2 : once));
      CHECK(counted(true, ring_attention_wgmma).link_read_bytes == 0);
    }
  }
}
#endif

TEST_CASE("ring_attention: every way is right") {
  if (kit::kHasGpu && devices_here() >= 2) {
    is_right_everywhere();
    runs_ahead();
    comes_in_pieces();
  } else {
    tests::passes_by_itself("SIMT_DEVICES=8 SIMT_MULTIPROCESSORS=2",
                            "ring_attention: every way on several devices", kRungs);
    tests::passes_by_itself("SIMT_DEVICES=4", "ring_attention: calls run ahead");
    // Two SMs: a block has tiles of several pieces.
    tests::passes_by_itself("SIMT_DEVICES=4 SIMT_MULTIPROCESSORS=2",
                            "ring_attention: a shard comes in pieces on several devices");
  }
}

TEST_CASE("ring_attention: every launch is in the stream that was given") {
  tests::passes_by_itself(
      "SIMT_DEVICES=3", "ring_attention: every launch is in its stream on several devices", kRungs);
}

TEST_CASE("ring_attention: as many bytes as the lesson says") {
  tests::passes_by_itself("SIMT_DEVICES=3", "ring_attention: bytes over the links");
}

// Every pair of a query and a key that it sees is computed once, and a row is complete in the last
// step that has a part of it. do_work(sharding, rank, see, complete) does the work of a rank, in
// order: see(query, step, keys) for what meets the first keys of the shard that it has in a step,
// complete(query) for a row that is stored for good.
template <class DoWork>
void is_all_of_the_work(DoWork do_work) {
  for (const bool is_zigzag : {false, true}) {
    for (const bool is_causal : {false, true}) {
      for (const int size : {1, 2, 3, 4, 8}) {
        for (const std::int64_t n : {1, 7, 16, 45, 64}) {
          const Sharding sharding{n, size, is_zigzag, is_causal};
          INFO(n << " tokens, " << size << " ranks, zigzag " << is_zigzag << ", causal "
                 << is_causal);
          std::vector<int> seen(n * n), completed(n);
          std::int64_t wrong = 0, rows = 0;
          for (int rank = 0; rank < size; ++rank) {
            rows += sharding.rows(rank);
            const auto see = [&](std::int64_t query, int step, int keys) {
              wrong += completed[query];
              for (int j = 0; j < keys; ++j) {
                ++seen[query * n + sharding.token(sharding.owner(rank, step), j)];
              }
            };
            do_work(sharding, rank, see, [&](std::int64_t query) { ++completed[query]; });
          }
          for (std::int64_t query = 0; query < n; ++query) {
            wrong += completed[query] != 1;
            for (std::int64_t key = 0; key < n; ++key) {
              wrong += seen[query * n + key] != (is_causal && key > query ? 0 : 1);
            }
          }
          CHECK(wrong == 0);
          CHECK(rows == n);
        }
      }
    }
  }
}

TEST_CASE("ring_attention: the steps are all of the work, and nothing twice") {
  is_all_of_the_work([](const Sharding& sharding, int rank, auto see, auto complete) {
    for (int step = 0; step < sharding.size; ++step) {
      const Work work = sharding.work(rank, step);
      if (!work.any()) continue;
      for (int i = 0; i < work.queries; ++i) {
        const std::int64_t query = sharding.token(rank, work.first_query + i);
        see(query, step, work.is_diagonal ? i + 1 : work.keys);
        if (i < work.complete) complete(query);
      }
    }
  });
}

// Which rows of a window meet which keys of both shards.
TEST_CASE("ring_attention: fused steps are all of the work, and nothing twice") {
  is_all_of_the_work([](const Sharding& sharding, int rank, auto see, auto complete) {
    for (int step = 0, count; step < sharding.size; step += count) {
      count = steps_at_once(step, sharding.size);
      const FusedWork work = fused_work(sharding, rank, step, count);
      if (!work.any()) continue;
      for (int i = 0; i < work.queries; ++i) {
        const std::int64_t query = sharding.token(rank, work.first_query + i);
        see(query, step, work.is_diagonal ? i + 1 : work.keys);
        if (i >= work.split) see(query, step + 1, work.second_keys);
        if (i < work.complete) complete(query);
      }
    }
  });
}

// Every head is in one piece, and each piece but the last has as many heads as all before it.
TEST_CASE("ring_attention: pieces of a shard") {
  for (const int heads : {1, 2, 3, 5, 16, 1000}) {
    for (const std::int64_t bytes : {1, 300, 1024, 5000}) {
      const Pieces pieces = Pieces::of(heads, 1024, 4 * bytes);
      INFO(heads << " heads, the first piece: " << pieces.unit);
      CHECK(pieces.first_head(pieces.count()) == heads);
      CHECK(pieces.count() <= kMostPieces);
      std::int64_t wrong = 0;
      for (int head = 0; head < heads; ++head) {
        const int piece = pieces.of_head(head), first = pieces.first_head(piece);
        const int last = pieces.first_head(piece + 1);
        wrong += head < first || head >= last;
        wrong += piece > 0 && last < heads && last - first != first;
      }
      CHECK(wrong == 0);
    }
  }
  CHECK(Pieces::of(16, 4 << 20, 8 << 20).unit == 2);
}

// The lesson's figures: without zigzag the last rank has 2 - 1 / size times the mean, with it all
// have the same, in every step.
TEST_CASE("ring_attention: zigzag divides the work evenly") {
  constexpr std::int64_t kTokens = 4096;
  for (const int size : {2, 4, 8}) {
    const double mean = 0.5 * kTokens * kTokens / size;
    const auto pairs = [&](bool is_zigzag, int rank) {
      std::int64_t sum = 0;
      for (int step = 0; step < size; ++step) {
        sum += Sharding{kTokens, size, is_zigzag, true}.work(rank, step).pairs();
      }
      return static_cast<double>(sum);
    };
    INFO(size << " ranks");
    CHECK(pairs(false, size - 1) == Approx((2 - 1.0 / size) * mean).epsilon(0.002));
    CHECK(pairs(false, 0) == Approx(mean / size).epsilon(0.004));
    for (int rank = 0; rank < size; ++rank) {
      CHECK(pairs(true, rank) == Approx(mean).epsilon(0.002));
      for (int step = 0; step < size; ++step) {
        const auto one = Sharding{kTokens, size, true, true}.work(rank, step).pairs();
        CHECK(one == Approx(mean / size).epsilon(0.005));
      }
    }
  }
}

TEST_CASE("ring_attention: loops of the CPU, and what one device cannot do") {
  bench::RunSettings run;
  run.device = bench::query_device();
  const bench::WorkStream stream(run.device);
  const auto problem = ladder().make_problem(
      {{"n", 53}, {"heads", 1}, {"devices", 5}, {"causal", 1}, {"d", 64}}, run);
  CHECK(ladder().make_problem({{"n", 5}}, run)->size == std::max(2, devices_here()));
  for (const auto& variant : ladder().variants) {
    INFO(variant.name);
    const auto verdict = tests::verify(*problem, variant, run.device, stream.get());
    if (variant.place == bench::Place::cpu || variant.name == "one_gpu") {
      CHECK(verdict.status == bench::Status::right);
    } else if (devices_here() < 5) {
      CHECK(verdict.status == bench::Status::skipped);
      CHECK(verdict.reason.find("needs ") == 0);
    }
  }
  const auto wide = ladder().make_problem({{"n", 5}, {"heads", 1}, {"d", 256}}, run);
  const auto verdict = tests::verify(*wide, tests::variant_named(ladder().variants, "one_gpu"),
                                     run.device, stream.get());
  CHECK(verdict.reason == "is compiled for d = 64 and 128, not 256");
}
