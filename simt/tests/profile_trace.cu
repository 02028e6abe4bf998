// The records of 32 lanes, put back into the order in which a warp executes.
#include "simt/src/profile_trace.h"

#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace {

using simt::TraceKind;
using simt::WarpTrace;

// Writes down what the replay executes: "pc:lanes".
struct Journal {
  std::vector<std::pair<uint32_t, uint32_t>> steps;
  unsigned diverged_at_least_once = 0;
  void execute(const simt::TraceEvent& event, uint32_t lanes, const uint64_t*) {
    steps.emplace_back(event.pc, lanes);
  }
  void diverged(const simt::TraceEvent&) { ++diverged_at_least_once; }
};
using Steps = std::vector<std::pair<uint32_t, uint32_t>>;

void load(WarpTrace& trace, unsigned lane, uint32_t pc, uint16_t depth = 0) {
  trace.record(lane, {lane * 4ull, pc, depth, TraceKind::kGlobalLoad, 4});
}

}  // namespace

TEST_CASE("lanes that part at a branch meet again behind it") {
  WarpTrace trace;
  trace.begin(0xf);
  for (unsigned lane = 0; lane < 4; ++lane) {
    load(trace, lane, 10);
    load(trace, lane, lane % 2 ? 30 : 20);  // if / else
    load(trace, lane, 40);
    trace.lane_exited(lane);
  }
  Journal journal;
  trace.replay(journal);
  CHECK(journal.steps == Steps{{10, 0xf}, {20, 0x5}, {30, 0xa}, {40, 0xf}});
  CHECK(journal.diverged_at_least_once == 1);
}

TEST_CASE("a loop of different length per lane ends together") {
  WarpTrace trace;
  trace.begin(0x7);
  for (unsigned lane = 0; lane < 3; ++lane) {
    for (unsigned turn = 0; turn <= lane; ++turn) load(trace, lane, 10);
    load(trace, lane, 50);
    trace.lane_exited(lane);
  }
  Journal journal;
  trace.replay(journal);
  CHECK(journal.steps == Steps{{10, 0x7}, {10, 0x6}, {10, 0x4}, {50, 0x7}});
}

TEST_CASE("iterations that a lane skips do not shift its later ones") {
  WarpTrace trace;
  trace.begin(0x3);
  for (unsigned turn = 0; turn < 3; ++turn) {
    for (unsigned lane = 0; lane < 2; ++lane) {
      load(trace, lane, 10);
      if (lane == 0 || turn == 2) load(trace, lane, 20);
      load(trace, lane, 30);  // the block in which both ways meet
    }
  }
  for (unsigned lane = 0; lane < 2; ++lane) trace.lane_exited(lane);
  Journal journal;
  trace.replay(journal);
  CHECK(journal.steps == Steps{{10, 3},
                               {20, 1},
                               {30, 3},  //
                               {10, 3},
                               {20, 1},
                               {30, 3},  //
                               {10, 3},
                               {20, 3},
                               {30, 3}});
}

TEST_CASE("a called function, wherever it lies in memory, runs before its caller goes on") {
  WarpTrace trace;
  trace.begin(0x3);
  load(trace, 0, 10);
  load(trace, 0, 900, 1);  // the call
  load(trace, 0, 30);
  load(trace, 1, 10);
  load(trace, 1, 30);
  for (unsigned lane = 0; lane < 2; ++lane) trace.lane_exited(lane);
  Journal journal;
  trace.replay(journal);
  CHECK(journal.steps == Steps{{10, 3}, {900, 1}, {30, 3}});
}

TEST_CASE("the replay waits for lanes that have still to run") {
  WarpTrace trace;
  trace.begin(0x3);
  load(trace, 0, 10);
  load(trace, 0, 20);
  trace.lane_exited(0);
  Journal journal;
  trace.replay(journal);
  CHECK(journal.steps.empty());
  load(trace, 1, 10);
  trace.replay(journal);
  CHECK(journal.steps.empty());  // lane 1 could still go anywhere
  load(trace, 1, 20);
  trace.replay(journal);
  CHECK(journal.steps == Steps{{10, 3}});
  trace.lane_exited(1);
  trace.replay(journal);
  CHECK(journal.steps == Steps{{10, 3}, {20, 3}});
}

TEST_CASE("a warp-wide wait holds its lanes until all of them are there") {
  WarpTrace trace;
  trace.begin(0x3);
  load(trace, 0, 50);
  trace.record(0, {0x3, 60, 0, TraceKind::kWarpSync, 0});
  load(trace, 0, 10);  // earlier in the code, later in time
  load(trace, 1, 40);
  load(trace, 1, 50);
  trace.record(1, {0x3, 60, 0, TraceKind::kWarpSync, 0});
  load(trace, 1, 10);
  for (unsigned lane = 0; lane < 2; ++lane) trace.lane_exited(lane);
  Journal journal;
  trace.replay(journal);
  CHECK(journal.steps == Steps{{40, 2}, {50, 3}, {10, 3}});
}

TEST_CASE("a barrier holds the lanes that live") {
  WarpTrace trace;
  trace.begin(0x7);
  trace.lane_exited(2);
  for (unsigned lane = 0; lane < 2; ++lane) {
    load(trace, lane, 10);
    trace.record(lane, {0, 20, 0, TraceKind::kBarrier, 0});
  }
  Journal journal;
  trace.replay(journal);
  CHECK(journal.steps == Steps{{10, 3}});
  for (unsigned lane = 0; lane < 2; ++lane) {
    load(trace, lane, 30);
    trace.lane_exited(lane);
  }
  trace.replay(journal);
  CHECK(journal.steps == Steps{{10, 3}, {30, 3}});
}

TEST_CASE("a long record asks its lane to pause and is still kept whole") {
  WarpTrace trace;
  trace.begin(0x1);
  bool paused = false;
  for (uint32_t i = 0; i < 5000; ++i)
    paused |= trace.record(0, {0, i, 0, TraceKind::kBasicBlock, 0});
  CHECK(paused);
  trace.lane_exited(0);
  Journal journal;
  trace.replay(journal);
  REQUIRE(journal.steps.size() == 5000);
  CHECK(journal.steps[4999].first == 4999);
}
