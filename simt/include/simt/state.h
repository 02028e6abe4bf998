// What the running thread knows about itself: the built-in variables and the engine's own note of
// which thread an OS thread executes at the moment.
#pragma once

#include "simt/vector_types.h"

namespace simt {

struct Block;   // engine.h
struct Worker;  // worker.h

struct ThreadState {
  Block* block = nullptr;  // null: host code
  Worker* worker = nullptr;
  unsigned thread = 0;     // linear index in the block
  unsigned lane = 0;       // index in the warp
  char* shared = nullptr;  // the worker's shared memory, see engine.h
  unsigned polls = 0;      // atomics since the thread last went on, see poll()
  unsigned turns = 0;      // of `while` loops since then, see polling()
  const int* shared_offsets =
      nullptr;                // of the kernel's __shared__ variables, by number; -1: unplaced
  uint3* index = nullptr;     // where the OS thread's threadIdx is
  char* stack_low = nullptr;  // the stack that the running thread lives on
  char* stack_high = nullptr;
};

inline thread_local ThreadState state;

}  // namespace simt

// Real variables, not macros: host code often has locals of the same name, as in
// `dim3 blockDim(16, 16);`. One set for each OS thread; the engine writes threadIdx whenever it
// goes on with another thread.
inline thread_local uint3 threadIdx{0, 0, 0};
inline thread_local uint3 blockIdx{0, 0, 0};
inline thread_local dim3 blockDim{0, 0, 0};
inline thread_local dim3 gridDim{0, 0, 0};

constexpr int warpSize = 32;
