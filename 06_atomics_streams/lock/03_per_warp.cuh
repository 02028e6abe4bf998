// per_warp: the lanes of a warp find their best candidate, and lane 0 takes the lock.
//
// Only one lane per warp ever waits, so lanes of a warp no longer wait for each other, and there
// are 32 times fewer turns. Aggregation is worth more for a lock than for an atomic: a turn costs
// two fences and four trips to the L2, about a microsecond, and all turns are strictly one after
// the other. What is still wrong: a lock at all.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/kit/warp_sum.cuh"
#include "06_atomics_streams/lock/kit/record.cuh"
#include "06_atomics_streams/lock/kit/spin_lock.cuh"
#include "common/kit/check.cuh"

namespace lock {

// The better of two candidates: the larger value, of equal ones the smaller index.
__device__ inline Record better(Record a, Record b) {
  return b.largest > a.largest || (b.largest == a.largest && b.index < a.index) ? b : a;
}

__global__ void lock_per_warp_kernel(const float* x, std::int64_t n, Record* record,
                                     unsigned* lock) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  Record mine = {kLowest, kNowhere};
  if (i < n) mine = {x[i], static_cast<unsigned>(i)};
  for (int step = 16; step > 0; step /= 2) {
    mine = better(mine, {__shfl_down_sync(atomics_streams::kAllLanes, mine.largest, step),
                         __shfl_down_sync(atomics_streams::kAllLanes, mine.index, step)});
  }
  if (threadIdx.x % 32 == 0) enter_with_lock(lock, record, mine.largest, mine.index);
}

// *record = the largest of x[0 .. n) and its first place; *lock is 0 before and after. Device
// pointers; 0 < n < 2^32 - 1.
inline void lock_per_warp(const float* x, std::int64_t n, Record* record, unsigned* lock,
                          cudaStream_t stream) {
  const int block = 256;
  lock_start_kernel<<<1, 1, 0, stream>>>(record);
  lock_per_warp_kernel<<<(n + block - 1) / block, block, 0, stream>>>(x, n, record, lock);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace lock
