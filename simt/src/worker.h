// A worker: an OS thread that runs blocks, one at a time.
//
// scheduler.cpp moves between the threads of the block; worker.cpp between blocks.
#pragma once

#include <setjmp.h>

#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "async.h"
#include "engine.h"
#include "fiber.h"

namespace simt {

struct Operation;

// How a turn of a block ended.
enum class Turn {
  kFinished,  // all threads have exited
  kAtGrid,    // all live threads stand at grid.sync()
  kPolling,   // threads wait for something that only another block can do
  kAborted,   // a fault, or the launch was given up
  kWaiting,   // threads wait for another block of the cluster
};

struct Worker {
  explicit Worker(int number);
  ~Worker();

  // ---- threads of the running block (scheduler.cpp)
  Turn run_block(Block& block);
  void begin_block(Block& block, Launch& launch, uint64_t number);
  void abandon_threads(Block& block);
  // The running thread stops in this state, until the scheduler makes it kReady.
  void suspend(State state) { suspend(simt::state, state); }
  void suspend(ThreadState& me, State state);  // me: simt::state
  // The running thread waits for something that another thread will end with wake().
  void wait_for_event(State state, Location at);
  // The running thread ends the launch.
  [[noreturn]] void leave_after_fault();

  // ---- blocks (worker.cpp)
  void work();
  void begin();  // what work() begins with, and
  bool step();   // one round of it; false: there is nothing to do
  // The fibre that is on the processor; null: the scheduler is.
  const Fiber* running_fiber() const { return in_thread_ ? block->fiber[state.thread] : nullptr; }
  // In a kernel's thread, or at work for one.
  bool in_kernel() const { return in_thread_ || performing_; }

  const int number;
  Block* block = nullptr;

 private:
  friend void fiber_entry();
  void set_order(const Launch& launch, uint64_t block_number);
  void run_warps();
  unsigned warp() const;
  void begin_warp();
  bool next_thread(unsigned* thread);
  void make_current(ThreadState& me, unsigned thread);
  Context next_context();
  void suspend_for_another(Context* save);
  [[noreturn]] void run_new_threads();
  bool release_block_barrier(Block& block);

  bool start_blocks();
  bool resume_parked();
  bool may_go_on(const Block& block) const;
  void run_turn(Block* block);
  void enter(Block& block);
  void leave(Block& block);
  void finish(Block* block);
  void give_up_if_stuck();

  // ---- copies in the background (async_copies.cpp)
  // Carries out one copy or wgmma that is in flight; false: there is none.
  bool complete_one_copy(Block& block);

  // ---- clusters (cluster.cpp)
  Block* new_block();
  Block* start_cluster(Launch& launch, uint64_t number);
  Turn run_cluster(Cluster& cluster);
  void finish_cluster(Cluster& cluster);
  void make_present(Block& block);
  char* slot(unsigned rank);

  bool performing_ = false;  // the scheduler carries out a copy: a fault ends it with after_fault_
  sigjmp_buf after_fault_;
  Context scheduler_ = nullptr;  // the worker's own stack, while a fibre runs
  bool in_thread_ = false;       // a fibre runs now, not the scheduler
  Fiber* starting_ = nullptr;    // the fibre that was last sent to run new threads
  FiberPool fibers_;
  unsigned turn_ = 0;        // whose turn it is: a place in warp_order_
  unsigned warp_first_ = 0;  // first thread of that warp
  unsigned position_ = 0;    // next lane to look at, in the order of lane_order_
  uint8_t lane_order_[kWarpSize];
  uint8_t warp_order_[kMaxWarps];

  std::shared_ptr<Operation> source_;  // the kernel whose blocks it takes at the moment
  std::deque<Block*> parked_;          // blocks that wait for other blocks
  char* slots_ = nullptr;              // kMaxClusterBlocks shared memories, mapped as needed
  unsigned mapped_slots_ = 0;
  Block* owner_[kMaxClusterBlocks] = {};  // whose shared memory is in each slot
  std::vector<std::unique_ptr<Cluster>> free_clusters_;
  std::vector<std::unique_ptr<Block>> all_blocks_;
  std::vector<Block*> free_blocks_;
  uint64_t seen_progress_ = 0;
  std::chrono::steady_clock::time_point progress_at_;
};

// Carries out the warp operations whose lanes have all arrived, then lets their lanes go on. False:
// none of the warp's lanes can go on.
bool resolve_warp(Block& block, unsigned warp);

// All live threads stand at the barrier of the cluster (or of the block that has none): lets them
// go on.
bool release_cluster_barrier(Block& block);

// Makes a thread that waits for an event ready, in the running block or in one of its cluster.
void wake(Block& block, unsigned thread);

// Is the address in the shared memory of this worker's blocks? Which block's, or null.
bool in_shared_window(const void* address);
Block* owner_of_shared(const void* address);

// Text for the deadlock report: which threads wait where.
std::string describe_waiting(const Block& block);
// The line where it shows: of a thread that waits, rather for an event than at a barrier.
Location waiting_place(const Block& block);

}  // namespace simt
