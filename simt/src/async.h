// What a block needs beside its threads once it uses named barriers, mbarriers, clusters or wgmma:
// made at the first use, so that other kernels pay nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine.h"
#include "simt/ptx_matrix.h"

namespace simt {

constexpr unsigned kNamedBarriers = 16;
constexpr unsigned kWarpgroupThreads = 128;

struct NamedBarrier {
  unsigned arrived = 0;   // threads
  unsigned expected = 0;  // as the first of them said
};

// One wgmma: its 128 threads ask for it one after the other; it is carried out when all have.
struct Product {
  // What one thread brings: accumulators one behind the other from `d` on, or, if `scattered`,
  // where `d` says; and its registers of A, `changed` if they were written since.
  struct Lane {
    char* d;
    std::vector<void*> scattered;
    ptx::ARegister a[4];
    bool changed;
  };
  ptx::Wgmma shape;
  bool a_in_registers, accumulate;
  uint64_t a_tile, b_tile;
  int scale_a, scale_b, transposed_a, transposed_b;
  Location at;
  unsigned arrived = 0;
  std::vector<InFlight> tiles;  // for the observer
  Lane lanes[kWarpgroupThreads];
};

struct Warpgroup {
  std::deque<std::unique_ptr<Product>> products;  // asked for and not carried out, oldest first
  uint32_t done = 0;                              // how many have been carried out
};

// What one thread has asked of wgmma.
struct ThreadProducts {
  static constexpr unsigned kGroups = 32;  // that may be open at a time
  uint32_t asked = 0;
  uint32_t groups = 0;             // closed ones
  uint32_t asked_before[kGroups];  // at the end of each group, the newest ones
};

// All threads of a cluster, or of a block without one, come and later wait for the others.
struct ClusterBarrier {
  uint32_t phase = 0;    // how often all have come
  unsigned arrived = 0;  // threads that have come for this phase
};

// A copy by the copy engine that was asked for and is still in flight.
struct BulkCopy {
  unsigned thread;  // that asked for it
  uint64_t group;   // of this thread's bulk groups; kNoGroup: an mbarrier tells of its end
  std::function<void()> run;  // does it
};
constexpr uint64_t kNoGroup = ~uint64_t{0};

// cp.async, 4 to 16 bytes, or, if `mbarrier` is set, an arrival once the copies before it are done.
struct SmallCopy {
  uint64_t group;  // of this thread's groups
  char* to;
  const char* from;
  unsigned bytes, source_bytes;
  void* mbarrier;
  Location at;
  bool late;  // the observer knows of it
};

// What one thread has asked for and closed into groups.
struct ThreadCopies {
  uint64_t bulk_group = 0;   // the open one
  uint64_t small_group = 0;  // the open one
  std::vector<SmallCopy> small;
};

// setmaxnreg: what a thread asked for last, 0: never.
struct RegisterRequest {
  unsigned count = 0;
  Location at;
};

// What helps to find an arrival too many, once it has made something fail: who came to an mbarrier
// when nobody expected it. Kept while there is an observer.
struct Arrivals {
  struct Last {
    uint32_t phase = 0;        // the number of the phase, from 1 on
    const void* pc = nullptr;  // of the call that returns there
  };
  uint32_t phase = 1;
  bool waited = true;    // has anybody seen that the phase before is complete?
  std::vector<Last> of;  // each thread of the block
  // The first such arrival: again in the same phase, or before anybody had waited for the last one.
  unsigned thread = 0;
  const void* pc = nullptr;
  const void* pc_before = nullptr;  // of the first arrival; null: there was none
};

struct BlockAsync {
  void begin(unsigned threads);
  ThreadCopies& copies_of(unsigned thread);

  NamedBarrier named[kNamedBarriers];
  unsigned mbarrier_waiters = 0;
  std::map<unsigned, Arrivals> arrivals;  // by the offset of the mbarrier
  const char* shared = nullptr;  // where its shared memory is, once a thread waits at an mbarrier
  Warpgroup warpgroups[kMaxThreads / kWarpgroupThreads];
  std::vector<ThreadProducts> products;    // per thread, once one of them has asked for a wgmma
  std::vector<RegisterRequest> registers;  // per thread, once one of them has asked
  std::deque<BulkCopy> bulk;               // in flight
  std::vector<ThreadCopies> copies;        // per thread, once one of them has copied
  unsigned threads_with_small = 0;         // whose cp.async are in flight
  ClusterBarrier lone;                     // of a block without a cluster
  uint32_t cluster_phase[kMaxThreads];     // how often the thread has come to the cluster's barrier
  bool fenced_mbarriers[kMaxThreads];  // fence.mbarrier_init, not followed by a cluster's barrier
};

// The blocks of one cluster, by rank. They run on one worker, in turns.
struct Cluster {
  std::vector<Block*> members;
  ClusterBarrier barrier;
};

// The running block's, or that of a block of its cluster.
BlockAsync& async_of(Block& block);

template <class AnyBlock, class Function>
void for_each_member(AnyBlock& block, Function function) {
  if (!block.cluster) {
    function(block);
    return;
  }
  for (Block* member : block.cluster->members) function(*member);
}

// What SIMT_ASYNC says: is what was just asked for to be done at once?
bool at_once();

// Carries out one wgmma of which all threads have come; false: there is none.
bool complete_one_product(Block& block);

// The running thread writes to registers of A of a wgmma in flight, which then reads what is there
// when it is carried out.
void registers_change();

// At the end of a block: could the registers that its warps asked for be had?
void check_registers(Block& block);

// Does the thread's small copies up to this group.
void finish_small_copies(BlockAsync& async, unsigned thread, uint64_t last_group);

// "the mbarrier at shared offset 16, whose phase of parity 0 lacks 1 of 1 arrival and 4096 bytes"
std::string describe_mbarrier(const Block& block, const void* barrier);

// Of each mbarrier of the block a line, if somebody came to it when nobody expected it; "": of
// none.
std::string describe_unexpected_arrivals(const Block& block);

// Grows with whatever the threads of the block, or of its cluster, do other than poll.
uint64_t progress_of(const Block& block);

// Do all threads of the block, or of its cluster, that still live stand at grid.sync()?
bool stands_at_grid(const Block& block);

// Where an object lies in shared memory: whose, and at which offset.
struct SharedPlace {
  Block* block = nullptr;
  unsigned offset = 0;
};
// Ends the launch if the address is not in the shared memory of the cluster's blocks, or is not a
// multiple of `alignment`.
SharedPlace shared_place(const void* address, unsigned alignment, const char* instruction,
                         Location at);

// Ends the launch with a line that says what is wrong with the running thread's instruction.
[[noreturn]] void refuse_instruction(const char* check, const std::string& what, Location at,
                                     int cuda_error, const std::string& more = "");

// The running thread uses the mbarrier, or asks for a copy that will: says so if the mbarrier.init
// may not be seen yet.
void check_mbarrier_seen(const SharedPlace& mbarrier, bool by_copy, const char* instruction,
                         Location at);

// For Observer::publish and receive: no address of a program.
inline uint64_t order_key(const SharedPlace& place) {
  return ~(place.block->number << 20 | place.offset);
}
// The same for what came before the last phase of an mbarrier was complete: offsets are even.
inline uint64_t completed_key(const SharedPlace& place) { return order_key(place) ^ 1; }
void publish(uint64_t key);
void receive(uint64_t key);
// What has been published under `key` by now can be received under `to`, and later no more of it.
void pass_on(uint64_t key, uint64_t to);

}  // namespace simt
