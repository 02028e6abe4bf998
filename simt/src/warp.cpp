// The warp's meeting point: finds the lanes that wait for one another and lets them meet.

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "faults.h"
#include "simt/runtime_types.h"
#include "worker.h"

namespace simt {
namespace {

// Lanes of the warp in a given state, as a mask.
uint32_t lanes_in(const State* states, unsigned count, State wanted) {
  uint32_t mask = 0;
  for (unsigned l = 0; l < count; ++l) mask |= static_cast<uint32_t>(states[l] == wanted) << l;
  return mask;
}

void make_ready(State* states, uint32_t lanes) {
  for (; lanes != 0; lanes &= lanes - 1) states[__builtin_ctz(lanes)] = State::kReady;
}

// A meeting: lanes that named the same mask for the same operation.
uint32_t same_meeting(const Waiting* lanes, uint32_t waiting, const Waiting& one) {
  uint32_t meeting = 0;
  for (unsigned l = 0; l < kWarpSize; ++l)
    if ((waiting >> l & 1) && lanes[l].mask == one.mask &&
        lanes[l].operation->combine == one.operation->combine)
      meeting |= 1u << l;
  return meeting;
}

void report_bad_mask(const Block& block, unsigned thread, const char* what) {
  const Waiting& w = block.waiting[thread];
  const Location at = block.place[thread];
  const uint3 index = block.thread_index[thread];
  char text[400];
  snprintf(text, sizeof text,
           "kernel %s: %s at %s:%d: mask 0x%08x %s (block (%u,%u,%u), thread (%u,%u,%u))",
           block.launch->name(), w.operation->name, at.file, at.line, w.mask, what, block.index.x,
           block.index.y, block.index.z, index.x, index.y, index.z);
  report({"warp-mask", text, 0, at});
}

// The lanes of an aligned operation; if they come from several places, the launch ends.
bool at_one_place(const Block& block, unsigned first, uint32_t meeting) {
  const unsigned lead = first + __builtin_ctz(meeting);
  const Location one = block.place[lead];
  for (uint32_t rest = meeting; rest != 0; rest &= rest - 1) {
    const Location other = block.place[first + __builtin_ctz(rest)];
    if (other.line == one.line && strcmp(other.file, one.file) == 0) continue;
    char text[400];
    snprintf(text, sizeof text,
             "kernel %s, block (%u,%u,%u): lanes of one warp execute %s at %s:%d and at %s:%d",
             block.launch->name(), block.index.x, block.index.y, block.index.z,
             block.waiting[lead].operation->name, one.file, one.line, other.file, other.line);
    report({"divergent", text, cudaErrorLaunchFailure, one});
    abort_launch(*block.launch, cudaErrorLaunchFailure);
    return false;
  }
  return true;
}

// An aligned operation wants every lane; the launch ends where some have gone on without it.
bool every_lane_came(const Block& block, unsigned first, uint32_t meeting) {
  if (meeting == ~0u) return true;
  const unsigned lead = first + __builtin_ctz(meeting);
  const Location at = block.place[lead];
  char text[400];
  snprintf(text, sizeof text,
           "kernel %s, block (%u,%u,%u): %s at %s:%d without all 32 lanes of its warp: 0x%08x came",
           block.launch->name(), block.index.x, block.index.y, block.index.z,
           block.waiting[lead].operation->name, at.file, at.line, meeting);
  report({"divergent", text, cudaErrorLaunchFailure, at});
  abort_launch(*block.launch, cudaErrorLaunchFailure);
  return false;
}

}  // namespace

bool resolve_warp(Block& block, unsigned warp) {
  const unsigned first = warp * kWarpSize;
  const unsigned count = std::min(kWarpSize, block.thread_count - first);
  const uint32_t present = count == kWarpSize ? ~0u : (1u << count) - 1;
  State* states = &block.state[first];
  Waiting* lanes = &block.waiting[first];
  const uint32_t exited = lanes_in(states, count, State::kExited);
  bool progress = false;

  uint32_t waiting = lanes_in(states, count, State::kWarp);
  for (uint32_t left = waiting; left != 0;) {
    const unsigned one = __builtin_ctz(left);
    const uint32_t meeting = same_meeting(lanes, waiting, lanes[one]);
    left &= ~meeting;
    const uint32_t named = lanes[one].mask & present;
    if (named & ~meeting & ~exited) continue;  // somebody is still to come
    if (lanes[one].operation->aligned &&
        !(every_lane_came(block, first, meeting) && at_one_place(block, first, meeting)))
      return false;
    if (meeting & ~named)
      report_bad_mask(block, first + __builtin_ctz(meeting & ~named),
                      "does not name the calling lane");
    else if (named & exited)
      report_bad_mask(block, first + one, "names lanes that have exited");

    if (observer) observer->warp_operation(block, warp, meeting, named);
    void* payload[kWarpSize];
    for (uint32_t rest = meeting; rest != 0; rest &= rest - 1)
      payload[__builtin_ctz(rest)] = lanes[__builtin_ctz(rest)].payload;
    // It may call an operator of the user's: reads of the lanes' copies by the engine, not by a
    // thread of the kernel.
    state.block = nullptr;
    lanes[one].operation->combine(payload, meeting);
    state.block = &block;
    make_ready(states, meeting);
    block.waiting_in_warp[warp] -= __builtin_popcount(meeting);
    progress = true;
  }
  if (progress) return true;

  const uint32_t paused = lanes_in(states, count, State::kPaused);
  make_ready(states, paused);
  block.waiting_in_warp[warp] -= __builtin_popcount(paused);
  if (paused) return true;

  // Nobody else of this warp can come: the lanes that wait in __activemask at one place are its
  // result.
  const uint32_t asking = lanes_in(states, count, State::kActiveMask);
  if (!asking) return false;
  const Location* places = &block.place[first];
  const Location one = places[__builtin_ctz(asking)];
  uint32_t together = 0;
  for (unsigned l = 0; l < count; ++l)
    if ((asking >> l & 1) && places[l].line == one.line && places[l].file == one.file)
      together |= 1u << l;
  for (unsigned l = 0; l < count; ++l)
    if (together >> l & 1) lanes[l].mask = together;
  make_ready(states, together);
  block.waiting_in_warp[warp] -= __builtin_popcount(together);
  return true;
}

}  // namespace simt
