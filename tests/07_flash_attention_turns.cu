// Chapter 07, time stamps: a rung with stamps computes what it computes without, its stamps come in
// the order in which a warpgroup works, and a timeline is a piece of them.
#include <string>

#include "07_flash_attention/study/turns.cuh"
#include "common/bench/device_facts.cuh"
#include "common/bench/harness.cuh"
#include "tests/catch.hpp"
#include "tests/verify.hpp"

using namespace attention;

namespace {

// The stamps of one run.
void run_stamped(const StampedRung& rung, Bf16& problem, Stamps& stamps) {
  stamps.prepare(problem.shape);
  launch_in<Stamped<TurnsTile>>(rung.stamped_kernel, problem.shape, problem.device_data(), nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  stamps.fetch();
}

void check_order(const StampedRung& rung, const Stamps& stamps) {
  for (int block = 0; block < stamps.blocks(); ++block) {
    for (int w = 0; w < Stamps::kWarpgroups; ++w) {
      for (int tile = 0; tile < stamps.tiles(); ++tile) {
        INFO(rung.name << ", block " << block << ", warpgroup " << w << ", tile " << tile);
        const auto at = [&](Moment moment) { return stamps.at(block, w, tile, moment); };
        CHECK(0 < at(kWantsK));
        CHECK(at(kWantsK) < at(kIssuesScores));
        CHECK(at(kIssuesScores) < at(kHasScores));
        CHECK(at(kHasScores) < at(kWantsV));
        if (tile + 1 == stamps.tiles()) continue;
        // `wgmma` multiplies by V before it looks at the next K, `ping_pong` and
        // `gemm_softmax_overlap` beside it.
        const double next = stamps.at(block, w, tile + 1, kHasScores);
        CHECK((at(kHasOutput) < next) == (rung.name == "wgmma_two"));
      }
    }
  }
}

void check_timeline(const StampedRung& rung, const Stamps& stamps) {
  const bench::Timeline timeline = timeline_of(stamps, rung, typical_block(stamps));
  INFO(rung.name);
  CHECK(timeline.lanes.size() == 2 * Stamps::kWarpgroups);
  const int first = first_drawn(stamps);
  const double length =
      stamps.at(0, 0, first + kDrawnTiles, kIssuesScores) - stamps.at(0, 0, first, kIssuesScores);
  CHECK(timeline.end() <= length);
  double products = 0;  // A's: all that it issues within the timeline
  for (const bench::Bar& bar : timeline.bars) {
    INFO(bar.lane << ", " << bar.what);
    CHECK(0 <= bar.begin);
    CHECK(bar.begin < bar.end);
    if (bar.lane == "A: products" && bar.what.substr(0, 2) == "QK") ++products;
  }
  CHECK(products == kDrawnTiles);
}

}  // namespace

TEST_CASE("turns: every rung is right with stamps and without, and they come in order") {
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  const auto ladder = turns_ladder();
  for (const auto& variant : ladder.variants) {
    DYNAMIC_SECTION(variant.name) {
      const std::string reason = bench::why_skipped(variant, device);
      if (!reason.empty()) SKIP_SECTION(reason);
      for (const std::int64_t n : {1, 300}) {
        const auto problem = ladder.make_problem({{"n", n}, {"batch", 1}, {"heads", 2}});
        const auto verdict = tests::verify(*problem, variant, device, stream.get());
        INFO("n = " << n << ": " << verdict.reason);
        CHECK(verdict.status == bench::Status::right);
        for (const StampedRung& rung : stamped_rungs()) {
          if (variant.name != rung.name + "_stamped") continue;
          Stamps stamps;
          run_stamped(rung, *problem, stamps);
          check_order(rung, stamps);
        }
      }
    }
  }
}

TEST_CASE("turns: a timeline holds a few tiles of one block") {
  const bench::DeviceFacts device = bench::query_device();
  const std::string reason = bench::why_skipped(turns_ladder().variants.front(), device);
  if (!reason.empty()) SKIP_TEST(reason);
  constexpr int kTiles = 2 * kEdgeTiles + kDrawnTiles;
  Bf16 problem(Shape{1, 1, TurnsTile::kTileM, kTiles * TurnsTile::kTileN, TurnsTile::kD, false}, 7,
               1, device.is_real_gpu());
  problem.each_array([](auto& array) { array.reset(bench::Side::device); });
  for (const StampedRung& rung : stamped_rungs()) {
    Stamps stamps;
    run_stamped(rung, problem, stamps);
    check_order(rung, stamps);
    check_timeline(rung, stamps);
  }
}
