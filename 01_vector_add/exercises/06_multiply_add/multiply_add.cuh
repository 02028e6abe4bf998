// Exercise 01/multiply_add: z[i] = a x[i] + y[2 i].
#pragma once

#include <cuda_runtime.h>

// z[i] = a * x[i] + y[2 * i] for all i < n, with any grid. x, y (2 n elements) and z point to
// device memory.
__global__ void multiply_add_kernel(float a, const float* x, const float* y, float* z, int n) {
  //@ task 1: the grid-stride loop
  //@ hint: a thread begins at its number in the grid, as in exercise 01/guard
  //@ hint: the step is the number of threads of the whole grid: gridDim.x * blockDim.x
  //@ answer: 12 bytes must move for each element: x, every second y, z. 16 do: all of y's sectors
  //@ begin
  const int step = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    z[i] = a * x[i] + y[2 * i];
  }
  //@ end
}

inline void multiply_add(float a, const float* x, const float* y, float* z, int n) {
  //@ task 2: launch it, with at most 64 blocks
  //@ hint: 256 threads per block are a good start; round the number of blocks up
  //@ hint: take the smaller of that number and 64
  //@ begin
  const int block = 256;
  const int needed = (n + block - 1) / block;
  const int grid = needed < 64 ? needed : 64;
  multiply_add_kernel<<<grid, block>>>(a, x, y, z, n);
  //@ end
}
