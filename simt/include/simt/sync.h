// Barriers, fences and the other places where a thread waits for others.
#pragma once

#include "simt/build_mode.h"
#include "simt/location.h"
#include "simt/state.h"
#include "simt/warp_operation.h"

namespace simt {

enum class Barrier : unsigned char { kSync, kCount, kAnd, kOr };

// All threads of the block meet. `me` is simt::state.
void block_barrier(ThreadState& me, Location at);
// The same, and every thread gets the vote: how many predicates hold, whether all do, whether any
// does.
int block_vote(Barrier kind, int predicate, Location at);
// All threads of the grid meet.
void grid_barrier(Location at);
bool launched_cooperatively();
void memory_fence(Scope scope);
// Lets other threads run for a while.
void give_way();
// The same, for so many nanoseconds of the GPU's.
void sleep(unsigned nanoseconds);

// Called by whatever a thread may do in a loop that waits for another thread. A CPU core runs one
// thread of the block at a time, so a thread that polls must give way now and then or it waits for
// ever.
SIMT_INLINE void poll() {
  constexpr unsigned kPatience = 256;
  if (++state.polls >= kPatience && state.block) give_way();
}

// In the condition of every `while` loop of device code, put there by the front end.
SIMT_INLINE bool polling() {
  constexpr unsigned kPatience = 256;
  if (++state.turns >= kPatience && state.block) give_way();
  return true;
}

// A feature that the model GPU does not have: ends the launch with cudaErrorNotSupported.
[[noreturn]] void unsupported(const char* feature, const char* file, int line);
// __trap(): ends the launch with cudaErrorLaunchFailure.
[[noreturn]] void trap(Location at);

}  // namespace simt

SIMT_INLINE void __syncthreads(simt::Location at = simt::Location::here()) {
  simt::block_barrier(simt::state, at);
}
SIMT_INLINE int __syncthreads_count(int predicate, simt::Location at = simt::Location::here()) {
  return simt::block_vote(simt::Barrier::kCount, predicate, at);
}
SIMT_INLINE int __syncthreads_and(int predicate, simt::Location at = simt::Location::here()) {
  return simt::block_vote(simt::Barrier::kAnd, predicate, at);
}
SIMT_INLINE int __syncthreads_or(int predicate, simt::Location at = simt::Location::here()) {
  return simt::block_vote(simt::Barrier::kOr, predicate, at);
}

SIMT_INLINE void __threadfence() { simt::memory_fence(simt::Scope::kDevice); }
SIMT_INLINE void __threadfence_block() { simt::memory_fence(simt::Scope::kBlock); }
SIMT_INLINE void __threadfence_system() { simt::memory_fence(simt::Scope::kSystem); }

SIMT_INLINE void __nanosleep(unsigned nanoseconds) { simt::sleep(nanoseconds); }
[[noreturn]] inline void __trap(simt::Location at = simt::Location::here()) { simt::trap(at); }
inline void __brkpt() {}
