// Exercise 04/lanes: a matrix product, one element of C a thread.
#pragma once

#include <cuda_runtime.h>

constexpr int kTile = 32;  // a block computes kTile x kTile elements of C

// C = A B; A is m x k, B is k x n, C is m x n, all row-major, in device memory.
__global__ void multiply_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  //@ task 1: row and column of this thread's element (blockIdx.y counts tiles down, .x across)
  //@ hint: threadIdx.x counts the lanes of a warp: what should 32 lanes load and store together?
  //@ hint: neighbouring lanes: neighbouring columns of B and of C, one row of A for all of them
  //@ hint: row blockIdx.y * kTile + threadIdx.y; the column likewise, from x
  //@ instead: const int row = m, col = n;
  //@ begin
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int col = blockIdx.x * kTile + threadIdx.x;
  //@ end
  if (row >= m || col >= n) return;
  float sum = 0;
  for (int p = 0; p < k; ++p) sum += a[row * k + p] * b[p * n + col];
  c[row * n + col] = sum;
}

inline void multiply(const float* a, const float* b, float* c, int m, int n, int k) {
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  multiply_kernel<<<grid, dim3(kTile, kTile)>>>(a, b, c, m, n, k);
}
