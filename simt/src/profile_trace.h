// What the lanes of a warp did, and in which order a GPU would have done it.
//
// The engine runs the lanes of a warp one after another, each as far as it gets. A GPU runs them in
// lockstep: one instruction for all lanes that stand at it. So each lane only writes down its
// accesses and the basic blocks it enters, and `replay` puts the records of 32 lanes back in step:
// the lanes that are deepest in calls, and among them those earliest in the code, go first, so
// that lanes which parted at a branch meet again after it. Running ahead changes nothing as
// long as the program has no races, since a lane sees the others' data only past a synchronisation.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "simt/profile.h"

namespace simt {

enum class TraceKind : uint8_t {
  kGlobalLoad,  // the accesses, as in AccessKind
  kGlobalStore,
  kGlobalAtomic,
  kSharedLoad,
  kSharedStore,
  kSharedAtomic,
  kBasicBlock,
  kWarpSync,  // from here on: a lane waits. `address` holds the mask it waits with
  kBarrier,
};
static_assert(uint8_t(TraceKind::kSharedAtomic) == uint8_t(AccessKind::kSharedAtomic));

struct TraceEvent {
  uint64_t address;
  uint32_t pc;     // code address, relative to where the program is loaded
  uint16_t depth;  // how deep in calls
  TraceKind kind;
  uint8_t size;
};

class WarpTrace {
 public:
  // A lane that has recorded this much should pause and let the others catch up. More is possible.
  static constexpr uint32_t kPauseAt = 56;

  WarpTrace() = default;
  WarpTrace(const WarpTrace&) = delete;
  WarpTrace& operator=(const WarpTrace&) = delete;
  ~WarpTrace() {
    for (Lane& lane : lanes_) std::free(lane.events);
  }

  // Starts a new warp whose lanes are the set bits of `present`.
  void begin(uint32_t present) {
    live_ = present;
    for (Lane& lane : lanes_) {
      lane.first = lane.end = 0;
      lane.exited = false;
    }
  }

  // Adds an event. True if the lane should pause.
  bool record(unsigned lane_index, const TraceEvent& event) {
    Lane& lane = lanes_[lane_index];
    if (lane.end == lane.capacity) make_room(lane);
    lane.events[lane.end++] = event;
    return lane.end - lane.first >= kPauseAt && lane.end % 8 == 0;
  }

  void lane_exited(unsigned lane_index) { lanes_[lane_index].exited = true; }

  // Calls, in lockstep order, sink.execute(event, lanes, addresses) for every warp instruction
  // whose lanes are known and sink.diverged(event) after those that sent their lanes different
  // ways. Stops where the answer depends on a lane that has still to run.
  template <class Sink>
  void replay(Sink& sink) {
    State state;
    for (uint32_t todo = live_; todo != 0; todo &= todo - 1) look_at(ctz(todo), state);
    for (;;) {
      while (state.parked != 0 && release_parked(state)) {
      }
      if (state.unknown != 0 || state.ready == 0) return;
      const uint32_t group = next_group(state);
      const TraceEvent event = *front(ctz(group));
      uint64_t address[32];
      for (uint32_t todo = group; todo != 0; todo &= todo - 1) {
        address[ctz(todo)] = front(ctz(todo))->address;
      }
      sink.execute(event, group, address);
      state.ready &= ~group;
      for (uint32_t todo = group; todo != 0; todo &= todo - 1) {
        Lane& lane = lanes_[ctz(todo)];
        if (++lane.first == lane.end) lane.first = lane.end = 0;
        look_at(ctz(todo), state);
      }
      if (went_apart(group, state)) sink.diverged(event);
    }
  }

 private:
  struct Lane {
    TraceEvent* events = nullptr;
    uint32_t first = 0, end = 0, capacity = 0;
    bool exited = false;
  };

  // Where each lane stands: it has an event to execute, waits for others, or must run first.
  struct State {
    uint32_t ready = 0, parked = 0, unknown = 0;
    uint64_t key[32];  // position of the next event; the smallest goes first
  };

  static unsigned ctz(uint32_t mask) { return static_cast<unsigned>(__builtin_ctz(mask)); }
  const TraceEvent* front(unsigned lane) const { return &lanes_[lane].events[lanes_[lane].first]; }

  static void make_room(Lane& lane) {
    const uint32_t used = lane.end - lane.first;
    if (lane.first > 0) {
      std::memmove(lane.events, lane.events + lane.first, used * sizeof(TraceEvent));
    } else {
      // A little more than a round number, so that the lanes' records do not share cache sets.
      lane.capacity = lane.capacity == 0 ? kPauseAt + 16 : lane.capacity * 2;
      void* grown =
          std::realloc(static_cast<void*>(lane.events), lane.capacity * sizeof(TraceEvent));
      if (grown == nullptr) throw std::bad_alloc();
      lane.events = static_cast<TraceEvent*>(grown);
    }
    lane.first = 0;
    lane.end = used;
  }

  void look_at(unsigned index, State& state) {
    const Lane& lane = lanes_[index];
    const uint32_t bit = 1u << index, count = lane.end - lane.first;
    if (count == 0) {
      state.key[index] = ~uint64_t{0};
      if (lane.exited) {
        live_ &= ~bit;
      } else {
        state.unknown |= bit;
      }
      return;
    }
    const TraceEvent& event = lane.events[lane.first];
    state.key[index] = uint64_t{static_cast<uint16_t>(~event.depth)} << 32 | event.pc;
    if (event.kind >= TraceKind::kWarpSync) {
      state.parked |= bit;
    } else if (count == 1 && !lane.exited) {
      state.unknown |= bit;  // where it goes after this event is not known yet
    } else {
      state.ready |= bit;
    }
  }

  uint32_t next_group(const State& state) const {
    uint64_t lowest = ~uint64_t{0};
    for (uint32_t todo = state.ready; todo != 0; todo &= todo - 1) {
      const uint64_t key = state.key[ctz(todo)];
      lowest = key < lowest ? key : lowest;
    }
    uint32_t group = 0;
    for (uint32_t todo = state.ready; todo != 0; todo &= todo - 1) {
      group |= static_cast<uint32_t>(state.key[ctz(todo)] == lowest) << ctz(todo);
    }
    return group;
  }

  bool went_apart(uint32_t group, const State& state) const {
    const uint64_t key = state.key[ctz(group)];
    bool apart = false;
    for (uint32_t todo = group; todo != 0; todo &= todo - 1) apart |= state.key[ctz(todo)] != key;
    return apart;
  }

  // Lets lanes go that wait for one another and are all there. True if some went.
  bool release_parked(State& state) {
    for (uint32_t todo = state.parked; todo != 0;) {
      const TraceEvent& event = *front(ctz(todo));
      uint32_t group = 0;
      for (uint32_t rest = todo; rest != 0; rest &= rest - 1) {
        const TraceEvent& other = *front(ctz(rest));
        const bool same = other.kind == event.kind && other.address == event.address;
        group |= static_cast<uint32_t>(same) << ctz(rest);
      }
      todo &= ~group;
      const uint32_t wanted =
          event.kind == TraceKind::kBarrier ? live_ : static_cast<uint32_t>(event.address) & live_;
      if ((wanted & ~group) != 0) continue;
      state.parked &= ~group;
      for (uint32_t rest = group; rest != 0; rest &= rest - 1) {
        Lane& lane = lanes_[ctz(rest)];
        if (++lane.first == lane.end) lane.first = lane.end = 0;
        look_at(ctz(rest), state);
      }
      return true;
    }
    return false;
  }

  Lane lanes_[32];
  uint32_t live_ = 0;
};

}  // namespace simt
