// Exercise 06/append: a list of what is above a limit, in any order.
#pragma once

#include <cuda_runtime.h>

constexpr int kBlock = 128;

// list = all x[i] > limit with i < n, in any order; *count, 0 before, = how many they are. list has
// room for these and no more. All pointers point to device memory.
__global__ void append_kernel(const float* x, int n, float limit, float* list, int* count) {
  const int i = blockIdx.x * kBlock + threadIdx.x, lane = threadIdx.x % 32;
  //@ task 1: one atomicAdd for all lanes of a warp that have something to append
  //@ hint: __ballot_sync(0xffffffffu, wanted) has a bit for each lane that wants; __popc counts bits
  //@ hint: one lane reserves __popc(wanting) places; __shfl_sync hands the first of them round
  //@ hint: a lane's place is the first one plus the number of wanting lanes before it
  //@ begin
  const float value = i < n ? x[i] : limit;
  const unsigned wanting = __ballot_sync(0xffffffffu, value > limit);
  if (wanting == 0) return;  // the whole warp
  int first = 0;
  if (lane == 0) first = atomicAdd(count, __popc(wanting));
  first = __shfl_sync(0xffffffffu, first, 0);
  if (value > limit) list[first + __popc(wanting & ((1u << lane) - 1))] = value;
  //@ end
}

inline void append(const float* x, int n, float limit, float* list, int* count) {
  append_kernel<<<(n + kBlock - 1) / kBlock, kBlock>>>(x, n, limit, list, count);
}
