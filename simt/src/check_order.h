// What happened before what: the clocks behind the race check.
//
// Every thread of a block has a clock. It advances when the thread synchronises, so an access is
// placed by (block, thread, clock). An earlier access is ordered before the present one if
//  - the same thread made it, or
//  - a barrier of the block came between: its clock is below the block's `base`, or
//  - it was made in the same warp, and a __syncwarp or warp collective both took part in (directly
//    or through others) came between, or
//  - its thread published it (fence, then atomic or volatile store) and this block has received
//    it (atomic or volatile load of the same address, then fence; directly or through a third
//    block), each of these for as far as its scope reaches: what is of block scope orders nothing
//    for another block, and what is of device scope nothing for a block of another device, or
//  - it is the access that published, and the present one is at the same address, which this block
//    has observed (the load, with or without the fence): who has found a count may reset it.
// All other pairs that touch the same bytes, one of them writing, are races.
//
// With several devices, whose kernels wait for one another, this goes beyond one launch: a block
// begins with what is known where its launch stands among all streams, and whoever receives what it
// published receives that, too (Knowledge).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine.h"

namespace simt {

constexpr unsigned kBlockThreads = 1024;
constexpr unsigned kScopes = 3;

// A block's number among all of the program: of its launch, with 24 bits for the block. With one
// device all launches have 0, so that it is the number in the grid.
struct LaunchId {
  static constexpr unsigned kBlockBits = 24, kPositionBits = 24, kStreamBits = 13;
  static uint64_t make(int device, const Place& place) {
    return (uint64_t(unsigned(device)) << kStreamBits | (place.stream & ((1u << kStreamBits) - 1)))
               << (kPositionBits + kBlockBits) |
           (place.position & ((1u << kPositionBits) - 1)) << kBlockBits;
  }
  static uint64_t block(uint64_t launch, uint64_t number) {
    return launch == 0 ? number : launch | (number & ((1u << kBlockBits) - 1));
  }
  static unsigned device(uint64_t id) {
    return static_cast<unsigned>(id >> (kStreamBits + kPositionBits + kBlockBits));
  }
  static unsigned stream(uint64_t id) {
    return id >> (kPositionBits + kBlockBits) & ((1u << kStreamBits) - 1);
  }
  static uint64_t position(uint64_t id) { return id >> kBlockBits & ((1u << kPositionBits) - 1); }
};
// How far a scope must reach for two blocks to meet.
inline Scope scope_between(uint64_t one, uint64_t other) {
  if (one == other) return Scope::kBlock;
  return LaunchId::device(one) == LaunchId::device(other) ? Scope::kDevice : Scope::kSystem;
}

// How much is known of a block of another launch, or of one's own.
struct Known {
  uint32_t all_before = 0;
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> published;  // per address and thread
  std::unordered_map<uint32_t, uint32_t> own;                   // per thread
  std::unordered_map<uint32_t, uint32_t> warps;                 // per warp
  bool has(unsigned thread, uint32_t clock) const;
  bool has_published(uint64_t address, unsigned thread, uint32_t clock) const;
  void join(const Known& other);
};
// What is known at a point of the program: all operations that a clock has, and parts of launches
// that may still be under way.
struct Knowledge {
  StreamClock clock;
  std::unordered_map<uint64_t, Known> blocks;
  bool has_all(uint64_t id) const;
  bool has(uint64_t block, unsigned thread, uint32_t clock) const;
  bool has_published(uint64_t address, uint64_t block, unsigned thread, uint32_t clock) const;
  // The same, by an access of any size that touches this word of 4 bytes.
  bool has_published_in(uint64_t word, uint64_t block, unsigned thread, uint32_t clock) const;
  void join(const Knowledge& other);
};

// Threads of a block, and up to which clock a fence has made their accesses visible.
using Fenced = std::shared_ptr<const std::vector<std::pair<uint32_t, uint32_t>>>;

// One publication: at this point thread `thread` of `block` has made visible its own accesses up to
// clock `own`, those of its whole block before clock `all_before`, those of its warp before
// `warp_before`, those of other threads that fenced before a barrier or met it without the rest of
// the warp, and everything that the publications `through` and `received` carry.
struct Release;
struct Received {
  const Release* release;
  Scope scope;  // of the fence or the access: what is published farther away is not received
};
struct Release {
  uint64_t block = 0;
  uint32_t thread = 0;
  uint32_t own[kScopes] = {};  // for those as far away as this scope reaches
  uint32_t all_before[kScopes] = {};
  Fenced others[kScopes];        // null: none
  Scope scope = Scope::kSystem;  // published as far as that
  // Neither it nor anything that leads on from it has a scope that could be too short.
  bool everywhere = true;
  uint32_t warp_before[kScopes] = {};  // all before, for the threads of its warp
  uint64_t address = 0;                // where it was published,
  uint32_t at = 0;                     // at this clock of the thread
  const Release* through = nullptr;    // the release found at the same address
  std::vector<Received> received;      // what the block had received from others by then
  const Knowledge* start = nullptr;    // what it began with
};

// All publications of one launch, with several devices of all launches, by address. Shared by the
// workers.
class ReleaseBoard {
 public:
  void clear();
  bool empty() const { return __atomic_load_n(&count_, __ATOMIC_ACQUIRE) == 0; }
  const Release* find(uint64_t address);
  // Adds a release at `address` on top of what is published there.
  const Release* publish(uint64_t address, Release release);
  // What is published at `address` now is published at `to`, too.
  void pass_on(uint64_t address, uint64_t to);
  size_t size() const { return __atomic_load_n(&count_, __ATOMIC_ACQUIRE); }

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, const Release*> newest_;
  std::deque<Release> all_;
  uint64_t count_ = 0;
};

// The clocks of one running block.
class BlockOrder {
 public:
  // number: of the block in its grid. start: what comes before the launch; null: all that is
  // outside of it is somebody else's business.
  void begin(uint64_t number, unsigned threads, uint64_t launch = 0,
             const Knowledge* start = nullptr);

  uint64_t block() const { return block_; }
  uint64_t number() const { return number_; }
  uint64_t block_of_launch(uint64_t number) const { return LaunchId::block(launch_, number); }
  uint64_t number_of(uint64_t block) const { return launch_ == 0 ? block : block - launch_; }
  uint32_t clock(unsigned thread) const { return clock_[thread]; }
  uint32_t base() const { return base_; }
  uint32_t newest_clock() const { return newest_; }

  void barrier();
  void warp_sync(unsigned warp, uint32_t lanes);
  // Both at once: release and acquire.
  void fence(unsigned thread, Scope scope = Scope::kSystem);
  // The thread's next atomic or volatile store publishes what it did so far.
  void release(unsigned thread, Scope scope = Scope::kSystem);
  // What the block has observed so far, it has received.
  void acquire(Scope scope = Scope::kSystem);
  // What the thread does from here on has a newer clock than what it did before.
  void tick(unsigned thread) { advance(thread, clock_[thread] + 1); }
  // An atomic or volatile access at `address`: observes what is published there and publishes what
  // the thread has fenced. `address` must differ between the shared memories of two blocks.
  void observe(uint64_t address, ReleaseBoard& board, Scope scope = Scope::kSystem);
  void publish(unsigned thread, uint64_t address, ReleaseBoard& board,
               Scope scope = Scope::kSystem);
  // The same for what needs no fence, as a wait for a barrier or an arrival at it. An arrival
  // includes what the other threads of the warp did before the warp last met.
  void receive(uint64_t address, ReleaseBoard& board);
  void publish_all(unsigned thread, uint64_t address, ReleaseBoard& board);

  // Is an access of this block, by `other` at `clock`, ordered before `thread`'s present one?
  bool ordered(unsigned thread, unsigned other, uint32_t clock) {
    if (clock < base_ || other == thread) return true;
    if (thread / 32 == other / 32 &&
        (clock < warp_base_[thread / 32] ||
         (partial_[thread / 32] && clock < seen_[thread][other % 32]))) {
      return true;
    }
    return !received_.empty() && received(block_, other, clock);
  }
  // Has this block received the access that `thread` of `block` made at `clock`?
  bool received(uint64_t block, unsigned thread, uint32_t clock);
  // Has it observed what that thread published at `address`, then or later?
  bool observed_at(uint64_t address, uint64_t block, unsigned thread, uint32_t clock);
  // Would it have, if every scope on the way reached far enough?
  bool in_reach_of_wider_scopes(uint64_t block, unsigned thread, uint32_t clock) const;
  // All that the block has received, and what it began with, into the knowledge of its launch,
  // which has these already.
  void pass_on(Knowledge& to, std::set<const Knowledge*>& joined);

 private:
  uint32_t advance(unsigned thread, uint32_t clock) {
    newest_ = clock > newest_ ? clock : newest_;
    return clock_[thread] = clock;
  }

  struct Observed : Received {
    int reached = -1;  // the scope of the fence that came since: only as far as that
  };
  struct Unread : Received {
    uint64_t by;  // the block that received it
  };
  const Release* find_new(uint64_t address, ReleaseBoard& board, Scope scope = Scope::kSystem);
  void receive(const Received& found);
  Fenced lanes_met(unsigned thread) const;
  Fenced fence_lanes(unsigned reach, unsigned thread) const;
  void make_visible(unsigned thread, Scope scope);
  void keep_visible();
  const Release* publish(ReleaseBoard& board, uint64_t address, Release release);
  void read_received();
  bool is_new(const Unread& next);

  uint64_t block_ = 0, number_ = 0, launch_ = 0;
  const Knowledge* start_ = nullptr;
  std::vector<const Knowledge*> learned_;  // the starts of launches of which something was received
  unsigned threads_ = 0;
  uint32_t base_ = 1, newest_ = 1;
  // What fences that reach so far have made visible, if a barrier has followed them: all before a
  // clock, 0 if nothing, and more of some threads.
  uint32_t fenced_before_barrier_[kScopes] = {};
  Fenced fenced_threads_[kScopes];
  bool has_fenced_ = false;             // some thread, since begin()
  bool has_newly_fenced_ = false;       // since the last barrier
  uint32_t fenced_base_[kScopes] = {};  // the barrier before the newest fence
  // Of each thread up to which clock fences have made its accesses visible: its own, and those of
  // its warp since the warp last met. Nothing yet, unless has_fenced_.
  uint32_t visible_[kScopes][kBlockThreads];
  uint32_t clock_[kBlockThreads];
  // The clock each thread had at its last fence that reaches so far; 0 = never.
  uint32_t fence_[kScopes][kBlockThreads];
  // What its warp did before it last met, as of that fence: all before this clock; and of single
  // lanes more, if only some have met.
  uint32_t fence_warp_[kScopes][kBlockThreads];
  std::map<std::pair<unsigned, unsigned>, Fenced> fence_lanes_;  // by scope and thread
  uint32_t warp_base_[32];            // ordered by a collective of all the warp's lanes
  bool partial_[32];                  // some collective since then had fewer: look at seen_
  uint32_t seen_[kBlockThreads][32];  // per thread: what it knows of the lanes of its warp
  Received last_found_{nullptr, Scope::kBlock};
  std::vector<Observed> observed_;  // and not yet received: no fence came since
  std::vector<Received> received_;
  std::vector<Unread> unread_;
  std::unordered_set<const Release*> visited_;
  std::set<std::tuple<const Release*, uint64_t, Scope>> visited_by_;  // where scopes matter
  std::unordered_map<uint64_t, Known> known_;
};

}  // namespace simt
