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
#include "faults.h"
#include "options.h"

namespace simt {

void fiber_entry();

Worker::Worker(int number) : number(number), fibers_(&fiber_entry) {
  std::iota(lane_order_, lane_order_ + kWarpSize, 0);
  std::iota(warp_order_, warp_order_ + kMaxWarps, 0);
}

Worker::~Worker() = default;

void Worker::work() {
  begin();
  use_alternate_stack();
  Device& device = Device::get();
  while (!device.quitting())
    if (!step()) device.sleep_until_work();
}

void Worker::begin() {
  state.worker = this;
  state.index = &::threadIdx;
  state.shared = slot(0);
}

bool Worker::step() {
  Device& device = Device::get();
  bool active = resume_parked();
  active |= start_blocks();
  if (active) return true;
  OperationPtr task;
  if (device.take_task(&task)) {
    if (observer) observer->task_begins(task->place);
    // A host function is the host's, which has seen all before it.
    if (task->task.kind == Task::kHost) device.host_sees(*task->place);
    if (!device.fault()) task->task.work();
    if (observer) observer->task_ends();
    device.task_done(task);
    return true;
  }
  if (parked_.empty()) return false;
  give_up_if_stuck();
  return true;
}

namespace {

// Which block the n-th one to start is.
uint64_t block_in_order(const Launch& launch, uint64_t n) {
  const uint64_t count = launch.block_count / launch.cluster_blocks;
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
    const uint64_t number = launch.next_block.fetch_add(launch.cluster_blocks);
    if (number >= launch.block_count) continue;  // another worker was faster
    Block* next;
    if (launch.cluster.x) {
      next = start_cluster(launch, block_in_order(launch, number / launch.cluster_blocks));
    } else {
      next = new_block();
      begin_block(*next, launch, block_in_order(launch, number));
      if (observer) {
        enter(*next);
        observer->block_begin(*next);
      }
    }
    const size_t parked = parked_.size();
    run_turn(next);
    if (parked_.size() > parked && !stands_at_grid(*parked_.back())) return true;
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
    // Only a whole block may go on: one that polls may have some of its threads at grid.sync().
    if (stands_at_grid(*next) && next->launch->grid_phase != next->grid_phase) {
      for_each_member(*next, [&](Block& member) {
        enter(member);
        if (observer) observer->grid_barrier(member);
        member.at_grid = 0;
        for (unsigned i = 0; i < member.thread_count; ++i)
          if (member.state[i] == State::kGrid) wake(member, i);
      });
    }
    const uint64_t before = progress_of(*next);
    run_turn(next);
    const bool polls_only =
        !parked_.empty() && parked_.back() == next && progress_of(*next) == before;
    if (!polls_only) {
      ++Device::get().progress;
      any = true;
    }
  }
  return any;
}

bool Worker::may_go_on(const Block& b) const {
  if (b.launch->aborted) return true;
  if (stands_at_grid(b)) return b.launch->grid_phase != b.grid_phase;
  return true;
}

// Runs the block until it ends or cannot go on, and puts it where it belongs then.
void Worker::run_turn(Block* b) {
  enter(*b);
  switch (b->launch->aborted ? Turn::kAborted
          : b->cluster       ? run_cluster(*b->cluster)
                             : run_block(*b)) {
    case Turn::kAborted:
      if (b->cluster) {
        for (Block* member : b->cluster->members) abandon_threads(*member);
      } else {
        abandon_threads(*b);
      }
      finish(b);
      return;
    case Turn::kFinished: finish(b); return;
    case Turn::kWaiting:  // only of one block of a cluster
    case Turn::kAtGrid:
      b->grid_phase = b->launch->grid_phase;
      parked_.push_back(b);
      leave(*b);
      for_each_member(*b, [](Block& member) { Device::get().block_at_grid(*member.launch); });
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
  state.shared = slot(b.cluster_rank);
  if (!b.cluster) {
    make_present(b);
    return;
  }
  for (Block* member : b.cluster->members) make_present(*member);
}

// The block's shared memory into its slot, and what is there now to where it waits.
void Worker::make_present(Block& b) {
  Block*& owner = owner_[b.cluster_rank];
  if (owner == &b) return;
  char* shared = slot(b.cluster_rank);
  if (owner) {
    const Launch& other = *owner->launch;
    const size_t other_static = other.kernel->static_shared;
    owner->parked.resize(other_static + other.dynamic_shared);
    memcpy(owner->parked.data(), shared, other_static);
    memcpy(owner->parked.data() + other_static, shared + kStaticSharedBytes, other.dynamic_shared);
    owner->parked_static = other_static;
  }
  if (!b.parked.empty()) {
    memcpy(shared, b.parked.data(), b.parked_static);
    memcpy(shared + kStaticSharedBytes, b.parked.data() + b.parked_static,
           b.launch->dynamic_shared);
  }
  owner = &b;
}

void Worker::leave(Block&) {
  block = nullptr;
  state.block = nullptr;
}

void Worker::finish(Block* b) {
  Launch& launch = *b->launch;
  if (b->cluster) {
    finish_cluster(*b->cluster);
    return;
  }
  if (observer) observer->block_end(*b);
  leave(*b);
  owner_[0] = nullptr;
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
  report(
      {"deadlock", describe_waiting(stuck), cudaErrorLaunchTimeout, waiting_place(stuck), &stuck});
  abort_launch(*stuck.launch, cudaErrorLaunchTimeout);
}

}  // namespace simt
