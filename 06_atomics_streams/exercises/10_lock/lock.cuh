// Exercise 06/lock: the largest element and its place, kept in step by a lock.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

constexpr int kBlock = 128;

// Two words that must change together.
struct Record {
  float value;
  int index;
};

__device__ inline bool is_better(Record a, Record b) {
  return a.value > b.value || (a.value == b.value && a.index < b.index);
}

// Puts `mine` into the record if it is better than what is there. *lock: 0 is free, 1 is taken.
__device__ inline void enter(unsigned* lock, Record* record, Record mine) {
  //@ task 1: what may be looked at before the lock is taken?
  //@ hint: somebody else may be writing the record just now: value and index would not belong together
  //@ hint: "nothing to enter" can only be known by the thread that holds the lock
  //@ hint: only `done` is left here
  //@ instead: if (!is_better(mine, *record)) return;  // nothing to enter
  //@ instead: bool done = false;
  //@ begin
  bool done = false;
  //@ end
  while (!done) {
    if (atomicCAS(lock, 0u, 1u) != 0u) continue;
    __threadfence();  // nothing below is read before the lock is taken
    const Record there = {record->value, record->index};
    if (is_better(mine, there)) {
      record->value = mine.value;
      record->index = mine.index;
    }
    //@ task 2: give the lock back
    //@ hint: two things are wrong: what the store may overtake, and which kind of store it is
    //@ hint: the next owner must not find the lock free and the record old: a fence comes first
    //@ hint: __threadfence(), then atomicExch(lock, 0u): other threads are trying their atomicCAS on it
    //@ instead: *lock = 0;
    //@ begin
    __threadfence();  // everything above is written before the lock is free
    atomicExch(lock, 0u);
    //@ end
    done = true;
  }
}

// *record = the largest of x[0 .. n) and the first place where it stands. It begins with what loses
// against everything. One lane of each warp takes the lock.
__global__ void largest_kernel(const float* x, int n, unsigned* lock, Record* record) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  //@ task 3: the best of a warp, in lane 0
  //@ hint: which lanes does the mask of the shuffles name, and which come?
  //@ hint: in the last warp some lanes are past the end of x; they must not leave before the shuffles
  //@ hint: they bring what loses: {-INFINITY, n}
  //@ instead: if (i >= n) return;
  //@ instead: Record mine = {x[i], i};
  //@ begin
  Record mine = {i < n ? x[i] : -INFINITY, i < n ? i : n};
  //@ end
  for (int s = 16; s > 0; s /= 2) {
    const Record other = {__shfl_down_sync(0xffffffffu, mine.value, s),
                          __shfl_down_sync(0xffffffffu, mine.index, s)};
    if (is_better(other, mine)) mine = other;
  }
  if (threadIdx.x % 32 == 0 && i < n) enter(lock, record, mine);
}

inline void largest(const float* x, int n, unsigned* lock, Record* record) {
  largest_kernel<<<(n + kBlock - 1) / kBlock, kBlock>>>(x, n, lock, record);
}
