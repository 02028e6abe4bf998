// Moves a worker between blocks: takes new ones from the running kernels, parks those that wait for
// other blocks, and resumes them.

#include "worker.h"

#include <sched.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "device.h"
#include "options.h"

namespace simt {

void fiber_entry();

namespace {

// The shared memory of one worker, with unmapped pages around it.
char* map_shared_memory() {
  const size_t page = 4096, bytes = kStaticSharedBytes + kDynamicSharedBytes;
  char* all = static_cast<char*>(mmap(nullptr, bytes + 2 * page, PROT_NONE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (all == MAP_FAILED || mprotect(all + page, bytes, PROT_READ | PROT_WRITE) != 0) {
    fprintf(stderr, "simt: no memory for the blocks' shared memory\n");
    exit(1);
  }
  return all + page;
}

}  // namespace

Worker::Worker(int number) : number(number), fibers_(&fiber_entry) {
  std::iota(lane_order_, lane_order_ + kWarpSize, 0);
  std::iota(warp_order_, warp_order_ + kMaxWarps, 0);
}

Worker::~Worker() = default;

void Worker::work() {
  Device& device = Device::get();
  state.worker = this;
  state.shared = map_shared_memory();
  use_alternate_stack();
  while (!device.quitting()) {
    bool active = resume_parked();
    active |= start_blocks();
    if (active) continue;
    OperationPtr task;
    if (device.take_task(&task)) {
      if (!device.fault()) task->task.work();
      device.task_done(task);
    } else if (parked_.empty()) {
      device.sleep_until_work();
    } else {
      give_up_if_stuck();
    }
  }
}

namespace {

// Which block the n-th one to start is.
uint64_t block_in_order(const Launch& launch, uint64_t n) {
  const uint64_t count = launch.block_count;
  switch (options().order) {
    case Order::kReverse: return count - 1 - n;
    case Order::kRandom: {
      // n * step + offset hits every block once, because the step shares no factor with the count.
      uint64_t step = (options().seed * 2654435761u + launch.number * 40503u) % count | 1;
      while (std::gcd(step, count) != 1) step += 2;
      return static_cast<uint64_t>((static_cast<unsigned __int128>(n) * step + options().seed) %
                                   count);
    }
    default: return n;
  }
}

}  // namespace

// Takes new blocks until there are none, or until one of them waits for another block by polling
// (then the parked ones get another turn first). False: there was none.
bool Worker::start_blocks() {
  Device& device = Device::get();
  for (bool any = false;; any = true) {
    if (!source_ || source_->launch->next_block >= source_->launch->block_count)
      source_ = device.running_kernel();
    if (!source_) return any;
    Launch& launch = *source_->launch;
    const uint64_t number = launch.next_block++;
    if (number >= launch.block_count) continue;  // another worker was faster
    if (free_blocks_.empty()) {
      all_blocks_.push_back(std::make_unique<Block>());
      free_blocks_.push_back(all_blocks_.back().get());
    }
    Block* next = free_blocks_.back();
    free_blocks_.pop_back();
    begin_block(*next, launch, block_in_order(launch, number));
    if (observer) {
      enter(*next);
      observer->block_begin(*next);
    }
    const size_t parked = parked_.size();
    run_turn(next);
    if (parked_.size() > parked && !parked_.back()->at_grid) return true;
  }
}

// Gives every parked block that may go on a turn. False: none of them came any further.
bool Worker::resume_parked() {
  bool any = false;
  for (size_t left = parked_.size(); left > 0; --left) {
    Block* next = parked_.front();
    parked_.pop_front();
    if (!may_go_on(*next)) {
      parked_.push_back(next);
      continue;
    }
    if (next->at_grid && next->launch->grid_phase != next->grid_phase) {
      enter(*next);
      if (observer) observer->grid_barrier(*next);
      next->at_grid = 0;
      for (unsigned i = 0; i < next->thread_count; ++i)
        if (next->state[i] == State::kGrid) next->state[i] = State::kReady;
    }
    const unsigned exited = next->exited, barriers = next->barriers_passed;
    run_turn(next);
    bool polls_only = !parked_.empty() && parked_.back() == next && !next->at_grid &&
                      next->exited == exited && next->barriers_passed == barriers;
    if (!polls_only) {
      ++Device::get().progress;
      any = true;
    }
  }
  return any;
}

bool Worker::may_go_on(const Block& b) const {
  if (b.launch->aborted) return true;
  if (b.at_grid && b.at_grid + b.exited == b.thread_count)
    return b.launch->grid_phase != b.grid_phase;
  return true;
}

// Runs the block until it ends or cannot go on, and puts it where it belongs then.
void Worker::run_turn(Block* b) {
  enter(*b);
  switch (b->launch->aborted ? Turn::kAborted : run_block(*b)) {
    case Turn::kAborted:
      abandon_threads(*b);
      finish(b);
      return;
    case Turn::kFinished: finish(b); return;
    case Turn::kAtGrid:
      b->grid_phase = b->launch->grid_phase;
      parked_.push_back(b);
      leave(*b);
      Device::get().block_at_grid(*b->launch);
      return;
    case Turn::kPolling:
      parked_.push_back(b);
      leave(*b);
      return;
  }
}

// Makes the block the one that this OS thread executes. Its shared memory is copied into place
// unless it is still there from its last turn.
void Worker::enter(Block& b) {
  const Launch& launch = *b.launch;
  block = &b;
  state.block = &b;
  state.shared_offsets = launch.kernel->shared_offsets.data();
  ::blockIdx = b.index;
  ::blockDim = launch.block;
  ::gridDim = launch.grid;
  if (owner_ == &b) return;
  if (owner_) {
    const Launch& other = *owner_->launch;
    const size_t other_static = other.kernel->static_shared;
    owner_->parked.resize(other_static + other.dynamic_shared);
    memcpy(owner_->parked.data(), state.shared, other_static);
    memcpy(owner_->parked.data() + other_static, state.shared + kStaticSharedBytes,
           other.dynamic_shared);
    owner_->parked_static = other_static;
  }
  if (!b.parked.empty()) {
    memcpy(state.shared, b.parked.data(), b.parked_static);
    memcpy(state.shared + kStaticSharedBytes, b.parked.data() + b.parked_static,
           launch.dynamic_shared);
  }
  owner_ = &b;
}

void Worker::leave(Block&) {
  block = nullptr;
  state.block = nullptr;
}

void Worker::finish(Block* b) {
  Launch& launch = *b->launch;
  if (observer) observer->block_end(*b);
  leave(*b);
  owner_ = nullptr;
  free_blocks_.push_back(b);
  Device::get().block_finished(launch);
}

// All parked blocks poll or stand at grid.sync(). If nothing on the whole device has moved for a
// while, they wait for something that will never happen.
void Worker::give_up_if_stuck() {
  Device& device = Device::get();
  const auto now = std::chrono::steady_clock::now();
  if (device.progress != seen_progress_ || progress_at_.time_since_epoch().count() == 0) {
    seen_progress_ = device.progress;
    progress_at_ = now;
  }
  ++device.idle_or_polling;
  sched_yield();
  const bool everybody = device.idle_or_polling >= device.worker_count();
  --device.idle_or_polling;
  if (!everybody || std::chrono::duration<double>(now - progress_at_).count() < options().patience)
    return;
  Block& stuck = *parked_.front();
  report({"deadlock", describe_waiting(stuck), cudaErrorLaunchTimeout, {}, &stuck});
  abort_launch(*stuck.launch, cudaErrorLaunchTimeout);
}

}  // namespace simt
