// Exercise 07/online: softmax whose maximum and sum take one pass.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

// Softmax of each row of x, a row-major matrix in device memory, into y. One thread per row.
__global__ void softmax_kernel(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += row * cols;
  y += row * cols;

  float m = -INFINITY;  // the largest element so far
  float s = 0;          // the sum of exp(x - m) over the elements so far
  for (int c = 0; c < cols; ++c) {
    const float value = x[c];
    //@ task 1: take value into m and s
    //@ hint: first the new maximum, fmaxf(m, value); keep the old one for a moment
    //@ hint: the old sum belongs to the old maximum: s * expf(m - larger)
    //@ begin
    const float larger = fmaxf(m, value);
    s = s * expf(m - larger) + expf(value - larger);
    m = larger;
    //@ end
  }
  //@ task 2: the results
  //@ hint: one more pass over the row, with m and s known
  //@ begin
  for (int c = 0; c < cols; ++c) y[c] = expf(x[c] - m) / s;
  //@ end
}

inline void softmax(const float* x, float* y, int rows, int cols) {
  softmax_kernel<<<(rows + 63) / 64, 64>>>(x, y, rows, cols);
}
