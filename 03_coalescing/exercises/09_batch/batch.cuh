// Exercise 03/batch: many small matrices, each transposed.
#pragma once

#include <cuda_runtime.h>

//@ task 1: the kernel
//@ hint: a matrix is one piece of rows * cols floats, in a and in b: load and store it in order
//@ hint: one block a matrix: put it into shared memory as it comes, then wait
//@ hint: element i of the result is row i / rows, column i % rows; it was at (i % rows, i / rows)
//@ hint: a column of shared memory with an odd pitch hits few banks twice: pitch = cols | 1
//@ begin
constexpr int kBlock = 128;

__global__ void transpose_kernel(const float* a, float* b, int rows, int cols) {
  __shared__ float matrix[32 * 33];
  const int length = rows * cols, pitch = cols | 1;
  a += static_cast<long long>(blockIdx.x) * length;
  b += static_cast<long long>(blockIdx.x) * length;
  for (int i = threadIdx.x; i < length; i += kBlock) matrix[i / cols * pitch + i % cols] = a[i];
  __syncthreads();
  for (int i = threadIdx.x; i < length; i += kBlock) b[i] = matrix[i % rows * pitch + i / rows];
}
//@ end

// b[m][c][r] = a[m][r][c] for all m < count: `count` matrices of rows x cols, one behind the other
// without gaps, count at most 65,535. rows and cols are at most 32. Both point to device memory.
inline void transpose_all(const float* a, float* b, int count, int rows, int cols) {
  //@ task 2: the launch
  //@ hint: a block for each matrix
  //@ begin
  transpose_kernel<<<count, kBlock>>>(a, b, rows, cols);
  //@ end
}
