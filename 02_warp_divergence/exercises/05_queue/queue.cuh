// Exercise 02/queue: how the lanes of many warps find their places in one queue.
#pragma once

#include <cuda_runtime.h>

constexpr int kBlock = 256;
constexpr int kTerms = 16;
constexpr unsigned kAllLanes = 0xFFFFFFFF;  // a bit for each lane that takes part

// A polynomial whose coefficients lie in device memory: 16 loads for each warp that comes here.
__device__ inline float expensive_path(float x, const float* coefficients) {
  float sum = 0;
  for (int k = 0; k < kTerms; ++k) sum = fmaf(sum, x, coefficients[k]);
  return sum;
}

// Called by a whole warp. Bit l of `lanes` says whether lane l wants a place; at least one does.
// Raises *end, which the block shares, by the number of those lanes, and returns the place of this
// lane: the old end for the lowest of them, one more for the next, and so on. (What a lane gets
// that wants none does not matter.)
__device__ inline int place_in_queue(unsigned lanes, int* end) {
  const int lane = threadIdx.x % 32;
  //@ task 1: one lane raises the end for the whole warp, and tells the others where it was
  //@ hint: __popc(lanes) counts the bits that are set; atomicAdd returns the old value
  //@ hint: only lane 0 adds; __shfl_sync(kAllLanes, begin, 0) gives its `begin` to all lanes
  //@ instead: int begin = 0;
  //@ begin
  int begin = 0;
  if (lane == 0) begin = atomicAdd(end, __popc(lanes));
  begin = __shfl_sync(kAllLanes, begin, 0);
  //@ end
  //@ task 2: this lane's place among the lanes of its warp
  //@ hint: it is the number of set bits below the lane's own bit
  //@ hint: (1u << lane) - 1 has exactly the bits below bit `lane`
  //@ instead: return begin;
  //@ begin
  const unsigned lower_lanes = (1u << lane) - 1;
  return begin + __popc(lanes & lower_lanes);
  //@ end
}

// y[i] = expensive_path(x[i]) where x[i] is negative, x[i] where it is not, for all i < n. The
// negative ones are queued, so that they fill whole warps.
__global__ void activate_kernel(const float* x, const float* coefficients, float* y, int n) {
  __shared__ float queue[kBlock];
  __shared__ int owner[kBlock];  // thread that an entry of the queue came from
  __shared__ int end;
  if (threadIdx.x == 0) end = 0;
  __syncthreads();

  const int tile = blockIdx.x * kBlock, i = tile + threadIdx.x;
  const float value = i < n ? x[i] : 0.0f;
  const bool expensive = value < 0;
  if (i < n && !expensive) y[i] = value;

  const unsigned expensive_lanes = __ballot_sync(kAllLanes, expensive);
  if (expensive_lanes != 0) {  // the same for the whole warp
    const int place = place_in_queue(expensive_lanes, &end);
    if (expensive) {
      queue[place] = value;
      owner[place] = threadIdx.x;
    }
  }
  __syncthreads();

  const int t = threadIdx.x;
  if (t < end) y[tile + owner[t]] = expensive_path(queue[t], coefficients);
}

inline void activate(const float* x, const float* coefficients, float* y, int n) {
  activate_kernel<<<(n + kBlock - 1) / kBlock, kBlock>>>(x, coefficients, y, n);
}
