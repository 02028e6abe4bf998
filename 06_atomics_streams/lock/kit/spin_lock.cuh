// A lock that is tried until it is taken, and the critical section behind it.
#pragma once

#include <cuda_runtime.h>

#include "06_atomics_streams/lock/kit/record.cuh"

namespace lock {

// The critical section: two plain loads, up to two plain stores.
__device__ inline void enter_in_record(Record* record, float value, unsigned index) {
  if (value > record->largest || (value == record->largest && index < record->index)) {
    record->largest = value;
    record->index = index;
  }
}

__device__ inline void enter_with_lock(unsigned* lock, Record* record, float value,
                                       unsigned index) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0u, 1u) == 0u) {
      __threadfence();  // nothing below is read before the lock is taken
      enter_in_record(record, value, index);
      __threadfence();  // everything above is written before the lock is free
      atomicExch(lock, 0u);
      done = true;
    }
  }
}

}  // namespace lock
