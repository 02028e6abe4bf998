// Exercise 03/halo: sums of neighbours, with the inputs of a block in shared memory.
#pragma once

#include <cuda_runtime.h>

constexpr int kBlock = 128;
constexpr int kMaxRadius = 16;

// y[i] = x[i - radius] + ... + x[i + radius] for all i < n, where what lies outside of x counts as
// 0. radius is at most kMaxRadius. x and y point to device memory.
__global__ void window_kernel(const float* x, float* y, int n, int radius) {
  __shared__ float tile[kBlock + 2 * kMaxRadius];
  const int first = blockIdx.x * kBlock;  // the block's first output
  //@ task 1: all inputs of the block into the tile: tile[j] = x[first - radius + j], or 0
  //@ hint: there are kBlock + 2 * radius of them, more than threads: a loop with a step of kBlock
  //@ hint: for each j ask whether first - radius + j lies within 0 ... n - 1
  //@ hint: threads past the end load too: their neighbours need what they bring
  //@ begin
  for (int j = threadIdx.x; j < kBlock + 2 * radius; j += kBlock) {
    const int i = first - radius + j;
    tile[j] = i >= 0 && i < n ? x[i] : 0.0f;
  }
  //@ end
  //@ task 2: wait for the tile, and add up this thread's window
  //@ hint: a barrier for all threads comes before any thread leaves
  //@ hint: the window of thread t is tile[t] ... tile[t + 2 * radius]
  //@ begin
  __syncthreads();
  const int i = first + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k <= 2 * radius; ++k) sum += tile[threadIdx.x + k];
  y[i] = sum;
  //@ end
}

inline void window(const float* x, float* y, int n, int radius) {
  window_kernel<<<(n + kBlock - 1) / kBlock, kBlock>>>(x, y, n, radius);
}
