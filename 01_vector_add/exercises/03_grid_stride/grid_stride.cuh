// Exercise 01/grid_stride: y = x + y, with a grid of any size.
#pragma once

#include <cuda_runtime.h>

// y[i] = x[i] + y[i] for all i < n. x and y point to device memory.
__global__ void vector_add_kernel(const float* x, float* y, int n) {
  //@ task 1: walk over the array, each time by as many elements as the grid has threads
  //@ hint: a thread begins at its number in the grid: blockIdx.x * blockDim.x + threadIdx.x
  //@ hint: the grid has gridDim.x * blockDim.x threads: that is the step of the loop
  //@ hint: for (int i = first; i < n; i += stride)
  //@ begin
  const int stride = gridDim.x * blockDim.x;
  const int first = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = first; i < n; i += stride) y[i] = x[i] + y[i];
  //@ end
}

inline void vector_add(const float* x, float* y, int n, int grid) {
  vector_add_kernel<<<grid, 128>>>(x, y, n);
}
