// A value of every thread of a block, added to one cell with one atomic.
#pragma once

#include <cuda_runtime.h>

#include "06_atomics_streams/kit/warp_sum.cuh"

namespace atomics_streams {

// Adds `value` of every thread of the block to *cell with one atomic. All threads must call it; the
// block's size is a multiple of 32.
__device__ inline void add_block_to_cell(unsigned long long value, unsigned long long* cell) {
  __shared__ unsigned long long of_warp[32];
  const unsigned long long sum = warp_sum(value);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    const unsigned long long all =
        warp_sum(threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0);
    if (threadIdx.x == 0) atomicAdd(cell, all);
  }
}

}  // namespace atomics_streams
