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
//    for another block, or
//  - it is the access that published, and the present one is at the same address, which this block
//    has observed (the load, with or without the fence): who has found a count may reset it.
// All other pairs that touch the same bytes, one of them writing, are races.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace simt {

constexpr unsigned kBlockThreads = 1024;

// One publication: at this point thread `thread` of `block` has made visible its own accesses up to
// clock `own` and those of its whole block before clock `all_before`, and everything that the
// publications `through` and `received` carry.
struct Release;
struct Received {
  const Release* release;
  bool block_scope;  // by a fence or an access of that scope: only what the own block published
};
struct Release {
  uint64_t block = 0;
  uint32_t thread = 0;
  uint32_t own = 0;           // for other blocks
  uint32_t own_in_block = 0;  // for those of its own
  bool block_scope = false;   // published for its own block alone
  // Neither it nor anything that leads on from it has to do with block scope.
  bool everywhere = true;
  uint32_t all_before = 0;
  uint32_t warp_before = 0;          // the same for the threads of its warp
  uint64_t address = 0;              // where it was published,
  uint32_t at = 0;                   // at this clock of the thread
  const Release* through = nullptr;  // the release found at the same address
  std::vector<Received> received;    // what the block had received from others by then
};

// All publications of one launch, by address. Shared by the workers.
class ReleaseBoard {
 public:
  void clear();
  bool empty() const { return __atomic_load_n(&count_, __ATOMIC_ACQUIRE) == 0; }
  const Release* find(uint64_t address);
  // Adds a release at `address` on top of what is published there.
  const Release* publish(uint64_t address, Release release);
  // Was anything published for a single block?
  bool any_of_block_scope() const { return __atomic_load_n(&of_block_scope_, __ATOMIC_RELAXED); }

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, const Release*> newest_;
  std::deque<Release> all_;
  uint64_t count_ = 0;
  bool of_block_scope_ = false;
};

// The clocks of one running block.
class BlockOrder {
 public:
  void begin(uint64_t block, unsigned threads);

  uint64_t block() const { return block_; }
  uint32_t clock(unsigned thread) const { return clock_[thread]; }
  uint32_t base() const { return base_; }
  uint32_t newest_clock() const { return newest_; }

  void barrier();
  void warp_sync(unsigned warp, uint32_t lanes);
  // Both at once: release and acquire. block_scope: it is for the threads of the block alone.
  void fence(unsigned thread, bool block_scope = false);
  // The thread's next atomic or volatile store publishes what it did so far.
  void release(unsigned thread, bool block_scope = false);
  // What the block has observed so far, it has received.
  void acquire(bool block_scope = false);
  // What the thread does from here on has a newer clock than what it did before.
  void tick(unsigned thread) { advance(thread, clock_[thread] + 1); }
  // An atomic or volatile access at `address`: observes what is published there and publishes what
  // the thread has fenced. `address` must differ between the shared memories of two blocks.
  void observe(uint64_t address, ReleaseBoard& board, bool block_scope = false);
  void publish(unsigned thread, uint64_t address, ReleaseBoard& board, bool block_scope = false);
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
  // Has it observed what a fence of block scope was too short to receive?
  bool needs_wider_fence() const {
    return std::any_of(observed_.begin(), observed_.end(), [&](const Observed& each) {
      return each.received && each.release->block != block_;
    });
  }

 private:
  uint32_t advance(unsigned thread, uint32_t clock) {
    newest_ = clock > newest_ ? clock : newest_;
    return clock_[thread] = clock;
  }

  struct Observed : Received {
    bool received = false;  // for block scope
  };
  struct Unread : Received {
    uint64_t by;  // the block that received it
  };
  const Release* find_new(uint64_t address, ReleaseBoard& board, bool block_scope = false);
  void receive(const Received& found);
  const Release* publish(ReleaseBoard& board, uint64_t address, Release release);
  void read_received();
  bool is_new(const Unread& next);

  struct Known {
    uint32_t all_before = 0;
    std::map<std::pair<uint64_t, uint32_t>, uint32_t> published;  // per address and thread
    std::unordered_map<uint32_t, uint32_t> own;                   // per thread
    std::unordered_map<uint32_t, uint32_t> warps;                 // per warp
  };

  uint64_t block_ = 0;
  unsigned threads_ = 0;
  uint32_t base_ = 1, newest_ = 1;
  uint32_t fenced_before_barrier_ = 0;  // newest fence of any thread that a barrier has followed
  uint32_t newest_fence_ = 0;
  uint32_t clock_[kBlockThreads];
  uint32_t fence_[kBlockThreads];        // the clock each thread had when it last fenced; 0 = never
  uint32_t block_fence_[kBlockThreads];  // the same with fences of block scope, too
  uint32_t warp_base_[32];               // ordered by a collective of all the warp's lanes
  bool partial_[32];                     // some collective since then had fewer: look at seen_
  uint32_t seen_[kBlockThreads][32];     // per thread: what it knows of the lanes of its warp
  Received last_found_{nullptr, false};
  std::vector<Observed> observed_;  // and not yet received: no fence came since
  std::vector<Received> received_;
  std::vector<Unread> unread_;
  std::unordered_set<const Release*> visited_;
  std::set<std::tuple<const Release*, uint64_t, bool>> visited_by_;  // where scopes matter
  std::unordered_map<uint64_t, Known> known_;
};

}  // namespace simt
