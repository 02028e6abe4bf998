// Exercise 01/guard: y = x + y, each element by a thread of its own.
#pragma once

#include <cuda_runtime.h>

// y[i] = x[i] + y[i] for all i < n. x and y point to device memory.
__global__ void vector_add_kernel(const float* x, float* y, int n) {
  //@ task 1: find this thread's element and add it; do nothing if there is none
  //@ hint: blockIdx.x, blockDim.x and threadIdx.x together tell the thread's number in the grid
  //@ hint: that number is blockIdx.x * blockDim.x + threadIdx.x; compare it with n
  //@ begin
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + y[i];
  //@ end
}

inline void vector_add(const float* x, float* y, int n) {
  const int block = 256;
  //@ task 2: enough blocks for n elements, and not one more
  //@ hint: n / block forgets the elements that do not fill a block
  //@ hint: round up: add block - 1 before you divide
  //@ instead: const int grid = 1;
  //@ begin
  const int grid = (n + block - 1) / block;
  //@ end
  vector_add_kernel<<<grid, block>>>(x, y, n);
}
