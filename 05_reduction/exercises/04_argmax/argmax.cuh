// Exercise 05/argmax: the largest element and its place, by the shuffles of a sum.
#pragma once

#include <cuda_runtime.h>

#include <climits>
#include <cmath>

constexpr int kBlock = 256;

// An element and where it is.
struct Best {
  float value;
  int index;
};

// A pair that loses against every element, even against one of the same value.
__device__ inline Best nothing() {
  //@ task 1: the neutral element
  //@ hint: for a sum it is 0: combining with it changes nothing
  //@ hint: its value must not be above any float, and -INFINITY may be an element, too
  //@ hint: against an element of the same value the index decides: INT_MAX loses
  //@ instead: return {0, 0};
  //@ begin
  return {-INFINITY, INT_MAX};
  //@ end
}

// The larger of two; of equal ones that with the smaller index.
__device__ inline Best combine(Best a, Best b) {
  //@ task 2: which of the two
  //@ hint: b wins if its value is larger, or ...
  //@ hint: ... if the values are equal and its index is the smaller one
  //@ hint: nothing may depend on which of the two is called a, and which b
  //@ instead: return a;
  //@ begin
  const bool b_wins = b.value > a.value || (b.value == a.value && b.index < a.index);
  return b_wins ? b : a;
  //@ end
}

__device__ inline Best over_warp(Best own) {
  for (int s = 16; s > 0; s /= 2) {
    const Best other = {__shfl_xor_sync(0xffffffffu, own.value, s),
                        __shfl_xor_sync(0xffffffffu, own.index, s)};
    own = combine(other, own);
  }
  return own;
}

// *value = the largest of x[0 .. n), *index = the first place where it stands. One block.
__global__ void argmax_kernel(const float* x, int n, float* value, int* index) {
  __shared__ Best of_warps[kBlock / 32];
  const int t = threadIdx.x;
  Best best = nothing();
  for (int i = t; i < n; i += kBlock) best = combine(best, {x[i], i});
  best = over_warp(best);
  if (t % 32 == 0) of_warps[t / 32] = best;
  __syncthreads();
  if (t >= 32) return;
  best = over_warp(t < kBlock / 32 ? of_warps[t] : nothing());
  if (t == 0) {
    *value = best.value;
    *index = best.index;
  }
}

inline void argmax(const float* x, int n, float* value, int* index) {
  argmax_kernel<<<1, kBlock>>>(x, n, value, index);
}
