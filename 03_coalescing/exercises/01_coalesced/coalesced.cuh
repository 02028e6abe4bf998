// Exercise 03/coalesced: a copy, eight elements per thread.
#pragma once

#include <cuda_runtime.h>

constexpr int kBlock = 128;
constexpr int kItems = 8;  // elements of a thread
constexpr int kTile = kBlock * kItems;

// y[i] = x[i] for all i < n. x and y point to device memory. A block for each tile.
__global__ void copy_kernel(const float* x, float* y, int n) {
  const int tile = blockIdx.x * kTile;  // the first element of this block
  for (int k = 0; k < kItems; ++k) {
    //@ task 1: the element that this thread copies in step k
    //@ hint: look at one step: 32 threads of a warp run it together; where should they read?
    //@ hint: neighbouring threads take neighbouring elements: the index holds + threadIdx.x
    //@ hint: one step of the whole block covers kBlock elements
    //@ instead: const int i = n;
    //@ begin
    const int i = tile + k * kBlock + threadIdx.x;
    //@ end
    if (i < n) y[i] = x[i];
  }
}

inline void copy(const float* x, float* y, int n) {
  copy_kernel<<<(n + kTile - 1) / kTile, kBlock>>>(x, y, n);
}
