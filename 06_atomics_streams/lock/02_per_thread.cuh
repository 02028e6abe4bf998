// per_thread: a lock, and every thread takes it.
//
// A word that is 0 while free; atomicCAS turns it to 1 for exactly one thread. __threadfence after
// taking it and before releasing it orders the plain accesses in between: without the fences the
// next owner could see the lock released and the record not yet written. The loop takes, works and
// releases in ONE branch: see the lesson for why a loop that only takes would hang on chips before
// Volta. What is still wrong: n turns, one by one.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/lock/kit/record.cuh"
#include "06_atomics_streams/lock/kit/spin_lock.cuh"
#include "common/kit/check.cuh"

namespace lock {

__global__ void lock_per_thread_kernel(const float* x, std::int64_t n, Record* record,
                                       unsigned* lock) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) enter_with_lock(lock, record, x[i], static_cast<unsigned>(i));
}

// *record = the largest of x[0 .. n) and its first place; *lock is 0 before and after. Device
// pointers; 0 < n < 2^32 - 1.
inline void lock_per_thread(const float* x, std::int64_t n, Record* record, unsigned* lock,
                            cudaStream_t stream) {
  const int block = 256;
  lock_start_kernel<<<1, 1, 0, stream>>>(record);
  lock_per_thread_kernel<<<(n + block - 1) / block, block, 0, stream>>>(x, n, record, lock);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace lock
