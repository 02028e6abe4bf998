// Exercise 02/sparse: a few expensive elements among many cheap ones.
#pragma once

#include <cuda_runtime.h>

constexpr int kTerms = 32;

// A polynomial whose coefficients lie in device memory: 32 loads for each warp that comes here.
__device__ inline float tail(float x, const float* coefficients) {
  float sum = 0;
  for (int k = 0; k < kTerms; ++k) sum = fmaf(sum, x, coefficients[k]);
  return sum;
}

//@ task 1: the kernel, or the kernels
//@ hint: take a tile of 8 x 256 elements for a block: its 3 % make two warps' worth of work
//@ hint: first pass: store what is cheap, and put places and values of the rest into shared memory
//@ hint: a place in the queue: atomicAdd(&end, 1); a barrier; then thread t takes entries t, ...
//@ begin
constexpr int kBlock = 256;
constexpr int kTile = 8 * kBlock;

__global__ void activate_kernel(const float* x, const float* coefficients, float* y, int n) {
  __shared__ float queue[kTile];
  __shared__ int owner[kTile];  // the element that an entry of the queue belongs to
  __shared__ int end;
  if (threadIdx.x == 0) end = 0;
  __syncthreads();

  const int tile = blockIdx.x * kTile;
  for (int i = tile + threadIdx.x; i < min(tile + kTile, n); i += kBlock) {
    const float value = x[i];
    if (value < 0) {
      const int place = atomicAdd(&end, 1);
      queue[place] = value;
      owner[place] = i;
    } else {
      y[i] = value;
    }
  }
  __syncthreads();

  for (int t = threadIdx.x; t < end; t += kBlock) y[owner[t]] = tail(queue[t], coefficients);
}
//@ end

// y[i] = x[i] where x[i] is not negative, tail(x[i]) where it is, for all i < n. Device pointers.
inline void activate(const float* x, const float* coefficients, float* y, int n) {
  //@ task 2: the launch
  //@ hint: as many blocks as there are tiles, rounded up
  //@ begin
  activate_kernel<<<(n + kTile - 1) / kTile, kBlock>>>(x, coefficients, y, n);
  //@ end
}
