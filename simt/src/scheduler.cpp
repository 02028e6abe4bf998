// Runs one block: lets its threads run, one after the other, until each has exited or waits;
// resolves what they wait for; repeats.
//
// A thread starts as a plain call in run_new_threads(). If it ends without waiting, the next thread
// is called on the same stack, so a kernel without barriers is a loop. If it waits, the stack stays
// with it and the loop goes on on another fibre.

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "faults.h"
#include "options.h"
#include "simt/runtime_types.h"
#include "worker.h"

namespace simt {

// ---- which thread is next ---------------------------------------------------------------------

// `me` is simt::state. To look it up may be a call, and a barrier makes no call but the switch: its
// caller hands it down.

inline void Worker::make_current(ThreadState& me, unsigned thread) {
  block->state[thread] = State::kRunning;
  me.thread = thread;
  me.lane = thread % kWarpSize;
  me.polls = me.turns = 0;
  *me.index = block->thread_index[thread];
  ++position_;
}

inline unsigned Worker::warp() const { return warp_order_[turn_]; }

inline void Worker::begin_warp() {
  warp_first_ = warp() * kWarpSize;
  position_ = 0;
}

// The next thread that can run, in this launch's order; make_current() steps over it. Goes from
// warp to warp, but not past one whose lanes wait for one another. False: none.
inline bool Worker::next_thread(unsigned* thread) {
  for (;;) {
    for (; position_ < kWarpSize; ++position_) {
      const unsigned candidate = warp_first_ + lane_order_[position_];
      if (candidate >= block->thread_count) continue;
      const State s = block->state[candidate];
      if (s == State::kNew || s == State::kReady) {
        *thread = candidate;
        return true;
      }
    }
    if (observer || block->waiting_in_warp[warp()] || turn_ + 1 >= block->warp_count) return false;
    ++turn_;
    begin_warp();
  }
}

// Where the worker goes on when the running thread cannot: with a thread that was suspended, on a
// fresh fibre for threads not yet started, or with the scheduler.
Context Worker::next_context() {
  unsigned thread;
  if (!next_thread(&thread)) {
    in_thread_ = false;
    return scheduler_;
  }
  Fiber* fiber;
  Context next;
  if (block->state[thread] == State::kReady) {
    fiber = block->fiber[thread];
    next = block->context[thread];
    make_current(simt::state, thread);
  } else {
    fiber = starting_ = fibers_.take();  // finds the thread itself
    next = fiber->context;
  }
  if (observer) {
    simt::state.stack_low = fiber->low;
    simt::state.stack_high = fiber->high;
  }
  return next;
}

void fiber_entry() { state.worker->run_new_threads(); }

void Worker::run_new_threads() {
  ThreadState& me = simt::state;
  Fiber* const self = starting_;
  for (;;) {
    unsigned thread;
    while (next_thread(&thread) && block->state[thread] == State::kNew) {
      block->fiber[thread] = self;
      make_current(me, thread);
      const Launch& launch = *block->launch;
      launch.kernel->run(launch.call.get());
      if (observer) observer->thread_exit();
      block->state[thread] = State::kExited;
      block->fiber[thread] = nullptr;
      ++block->exited;
    }
    fibers_.give_back(self);
    simt_switch_context(&self->context, next_context());
  }
}

// Stops the running thread; returns when the scheduler lets it go on. Mostly the next lane was
// suspended, too, and goes on at once. The stacks of a large block do not fit into the first cache
// and its TLB, so that of a thread whose turn comes soon is fetched while others run.
inline void Worker::suspend(ThreadState& me, State waiting) {
  Block& b = *block;
  Context* const save = &b.context[me.thread];
  b.state[me.thread] = waiting;
  if (position_ < kWarpSize && !observer) {
    const unsigned next = warp_first_ + lane_order_[position_];
    if (next < b.thread_count && b.state[next] == State::kReady) {
      make_current(me, next);
      __builtin_prefetch(b.context[next + kAhead]);
      return simt_switch_context(save, b.context[next]);
    }
  }
  suspend_for_another(save);
}

// Not inline: suspend() then saves no register but in the switch.
__attribute__((noinline)) void Worker::suspend_for_another(Context* save) {
  simt_switch_context(save, next_context());
}

// Gives each lane of the warp a turn, and those of the next warps up to one whose lanes wait for
// one another.
void Worker::run_warps() {
  begin_warp();
  in_thread_ = true;
  const Context next = next_context();
  if (next != scheduler_) simt_switch_context(&scheduler_, next);
  position_ = kWarpSize;
}

// ---- one block --------------------------------------------------------------------------------

void Worker::set_order(const Launch& launch, uint64_t block_number) {
  const unsigned warps = (launch.threads_per_block + kWarpSize - 1) / kWarpSize;
  std::iota(lane_order_, lane_order_ + kWarpSize, 0);
  std::iota(warp_order_, warp_order_ + warps, 0);
  if (options().order == Order::kReverse) {
    std::reverse(lane_order_, lane_order_ + kWarpSize);
    std::reverse(warp_order_, warp_order_ + warps);
  } else if (options().order == Order::kRandom) {
    uint64_t random = options().seed * 0x9E3779B97F4A7C15u + block_number + launch.number * 1000003;
    auto below = [&](unsigned n) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      return static_cast<unsigned>((random >> 33) % n);
    };
    for (unsigned i = kWarpSize; i > 1; --i) std::swap(lane_order_[i - 1], lane_order_[below(i)]);
    for (unsigned i = warps; i > 1; --i) std::swap(warp_order_[i - 1], warp_order_[below(i)]);
  }
}

void Worker::begin_block(Block& b, Launch& launch, uint64_t block_number) {
  const dim3 shape = launch.block;
  const uint3 last = b.thread_index[launch.threads_per_block - 1];
  const bool same_shape =
      b.thread_count == launch.threads_per_block && last.x == shape.x - 1 && last.y == shape.y - 1;
  b.begin(launch, block_number);
  b.at_grid = b.yielded = b.barriers_passed = 0;
  b.woken = false;
  b.events = b.events_seen = 0;
  b.sleeps = 0;
  b.slept.clear();
  b.cluster = nullptr;
  b.cluster_rank = 0;
  if (b.async) b.async->begin(launch.threads_per_block);
  b.votes = 0;
  b.grid_phase = 0;
  b.parked.clear();
  if (same_shape) return;
  unsigned i = 0;
  for (unsigned z = 0; z < shape.z; ++z)
    for (unsigned y = 0; y < shape.y; ++y)
      for (unsigned x = 0; x < shape.x; ++x) b.thread_index[i++] = {x, y, z};
}

// All live threads stand at a barrier: let them go on.
bool Worker::release_block_barrier(Block& b) {
  if (b.at_barrier == 0 || b.at_barrier + b.exited != b.thread_count) return false;
  if (observer) observer->barrier(b);
  b.last_voters = b.at_barrier;
  b.last_votes = b.votes;
  b.votes = b.at_barrier = 0;
  ++b.barriers_passed;
  if (b.exited == 0) {
    memset(b.state, static_cast<int>(State::kReady), b.thread_count);
  } else {
    for (unsigned i = 0; i < b.thread_count; ++i)
      if (b.state[i] == State::kBarrier) b.state[i] = State::kReady;
  }
  return true;
}

Turn Worker::run_block(Block& b) {
  if (options().order != Order::kForward) set_order(*b.launch, b.number);
  for (;;) {
    for (turn_ = 0; turn_ < b.warp_count; ++turn_) {
      do {
        run_warps();
        if (b.launch->aborted) return Turn::kAborted;
        if (observer) observer->warp_idle(b, warp());
      } while (b.waiting_in_warp[warp()] && resolve_warp(b, warp()));
    }
    if (b.exited == b.thread_count) {
      while (b.async && complete_one_copy(b)) continue;
      if (b.async && !b.async->registers.empty()) check_registers(b);
      return b.launch->aborted ? Turn::kAborted : Turn::kFinished;
    }
    if (b.woken) {
      b.woken = false;
      continue;
    }
    if (b.yielded) {
      b.yielded = 0;
      for (unsigned i = 0; i < b.thread_count; ++i)
        if (b.state[i] == State::kYield) b.state[i] = State::kReady;
      if (b.async && complete_one_copy(b)) continue;
      if (b.events == b.events_seen) return Turn::kPolling;
      b.events_seen = b.events;
      continue;
    }
    if (release_block_barrier(b)) continue;
    if (b.async && release_cluster_barrier(b)) continue;
    if (b.async && complete_one_copy(b)) continue;
    if (b.launch->aborted) return Turn::kAborted;
    if (b.stands_at_grid()) return Turn::kAtGrid;
    if (b.cluster) return Turn::kWaiting;
    report({"deadlock", describe_waiting(b), cudaErrorLaunchTimeout, waiting_place(b)});
    abort_launch(*b.launch, cudaErrorLaunchTimeout);
    return Turn::kAborted;
  }
}

// After a fault: the fibres of threads that have not exited start afresh.
void Worker::abandon_threads(Block& b) {
  for (unsigned i = 0; i < b.thread_count; ++i) {
    if (b.fiber[i]) {
      fibers_.reset(b.fiber[i]);
      fibers_.give_back(b.fiber[i]);
    }
    b.fiber[i] = nullptr;
    b.state[i] = State::kExited;
  }
}

void Worker::leave_after_fault() {
  if (performing_) siglongjmp(after_fault_, 1);
  in_thread_ = false;
  leave_for(scheduler_);
}

// ---- what the running thread calls ------------------------------------------------------------

// Each of these ends with the switch to another thread, see fiber.h.

static inline Block& arrive_at_barrier(ThreadState& me, Location at) {
  Block& b = *me.block;
  b.place[me.thread] = at;
  ++b.at_barrier;
  return b;
}

// Not inline, for the same reason as suspend_for_another().
__attribute__((noinline)) static void observed_barrier(ThreadState& me, Location at) {
  observer->barrier_wait(Barrier::kSync, at);
  arrive_at_barrier(me, at);
  me.worker->suspend(me, State::kBarrier);
}

void block_barrier(ThreadState& me, Location at) {
  if (observer) return observed_barrier(me, at);
  arrive_at_barrier(me, at);
  me.worker->suspend(me, State::kBarrier);
}

int block_vote(Barrier kind, int predicate, Location at) {
  if (observer) observer->barrier_wait(kind, at);
  ThreadState& me = state;
  Block& b = arrive_at_barrier(me, at);
  b.votes += predicate != 0;
  me.worker->suspend(me, State::kBarrier);
  if (kind == Barrier::kCount) return static_cast<int>(b.last_votes);
  return kind == Barrier::kAnd ? b.last_votes == b.last_voters : b.last_votes != 0;
}

void grid_barrier(Location at) {
  Block& b = *state.block;
  if (!b.launch->cooperative) {
    report({"grid-sync",
            describe_current_thread() + ": grid.sync() in a kernel that was not launched " +
                "with cudaLaunchCooperativeKernel",
            cudaErrorLaunchFailure});
    fail_kernel(cudaErrorLaunchFailure);
  }
  b.place[state.thread] = at;
  if (observer) observer->grid_wait(at);
  ++b.at_grid;
  state.worker->suspend(State::kGrid);
}

bool launched_cooperatively() { return state.block->launch->cooperative; }

void warp_operation(unsigned mask, const WarpOperation& operation, void* payload, Location at) {
  Block& b = *state.block;
  Waiting& w = b.waiting[state.thread];
  w.mask = mask;
  w.operation = &operation;
  w.payload = payload;
  b.place[state.thread] = at;
  if (observer) observer->warp_wait(mask, operation, at);
  ++b.waiting_in_warp[state.thread / kWarpSize];
  state.worker->suspend(State::kWarp);
}

unsigned active_mask(Location at) {
  Block& b = *state.block;
  Waiting& w = b.waiting[state.thread];
  b.place[state.thread] = at;
  ++b.waiting_in_warp[state.thread / kWarpSize];
  state.worker->suspend(State::kActiveMask);
  return w.mask;
}

void Worker::wait_for_event(State waiting, Location at) {
  block->place[state.thread] = at;
  if (observer) observer->event_wait();
  suspend(waiting);
}

void wake(Block& b, unsigned thread) {
  b.state[thread] = State::kReady;
  b.woken = true;
}

void give_way() {
  if (!state.block) return;
  ++state.block->yielded;
  state.worker->suspend(State::kYield);
}

// A thread that looks at nothing between its sleeps waits for nobody: it comes further by sleeping,
// though not for longer than a deadlock takes to be called one. One sleep without a look says
// nothing: the thread's turn may have ended between the two.
void sleep(unsigned nanoseconds) {
  if (!state.block) return;
  Block& b = *state.block;
  b.slept.resize(kMaxThreads);
  Block::Sleeper& me = b.slept[state.thread];
  const bool looked = state.polls != 0;
  if (!looked && !me.looked) {
    constexpr uint64_t kLeast = 1000;
    me.nanoseconds += std::max<uint64_t>(nanoseconds, kLeast);
    if (static_cast<double>(me.nanoseconds) <= options().patience * 1e9) ++b.sleeps;
  }
  me.looked = looked;
  give_way();
}

void pause_thread() {
  ++state.block->waiting_in_warp[state.thread / kWarpSize];
  state.worker->suspend(State::kPaused);
}

void memory_fence(Scope scope) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (observer && state.block) observer->fence(scope);
  poll();
}

}  // namespace simt
