// Exercise 04/outer: a matrix product, 4 x 4 elements of C a thread.
#pragma once

#include <cuda_runtime.h>

constexpr int kTile = 32;   // a block computes kTile x kTile elements of C,
constexpr int kTileK = 8;   // kTileK products of each at a time,
constexpr int kThread = 4;  // and a thread kThread x kThread of them
constexpr int kThreads = kTile * kTile / (kThread * kThread);

__device__ inline float at_or_zero(const float* x, int row, int col, int rows, int cols) {
  return row < rows && col < cols ? x[row * cols + col] : 0.0f;
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major, in device memory.
__global__ void multiply_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float tile_a[kTile][kTileK], tile_b[kTileK][kTile];
  const int row = blockIdx.y * kTile, col = blockIdx.x * kTile, t = threadIdx.x;
  const int y = t / (kTile / kThread) * kThread;  // this thread's first row in the tile,
  const int x = t % (kTile / kThread) * kThread;  // and its first column
  float acc[kThread][kThread] = {};
  for (int p = 0; p < k; p += kTileK) {
    for (int i = t; i < kTile * kTileK; i += kThreads) {
      tile_a[i / kTileK][i % kTileK] = at_or_zero(a, row + i / kTileK, p + i % kTileK, m, k);
      tile_b[i / kTile][i % kTile] = at_or_zero(b, p + i / kTile, col + i % kTile, k, n);
    }
    __syncthreads();
    for (int q = 0; q < kTileK; ++q) {
      float from_a[kThread], from_b[kThread];
      //@ task 1: load what this thread needs for this q: 4 values of A and 4 of B
      //@ hint: its rows of the tile are y ... y + 3, its columns x ... x + 3
      //@ hint: from_a[r] = tile_a[y + r][q] and from_b[s] = tile_b[q][x + s]
      //@ begin
      for (int r = 0; r < kThread; ++r) from_a[r] = tile_a[y + r][q];
      for (int s = 0; s < kThread; ++s) from_b[s] = tile_b[q][x + s];
      //@ end
      //@ task 2: multiply each with each, from registers
      //@ hint: an outer product: acc[r][s] += from_a[r] * from_b[s]
      //@ begin
      for (int r = 0; r < kThread; ++r) {
        for (int s = 0; s < kThread; ++s) acc[r][s] += from_a[r] * from_b[s];
      }
      //@ end
    }
    __syncthreads();
  }
  //@ task 3: store the 16 elements, as far as they are inside of C
  //@ hint: acc[r][s] belongs to row row + y + r and column col + x + s
  //@ begin
  for (int r = 0; r < kThread; ++r) {
    for (int s = 0; s < kThread; ++s) {
      const int i = row + y + r, j = col + x + s;
      if (i < m && j < n) c[i * n + j] = acc[r][s];
    }
  }
  //@ end
}

inline void multiply(const float* a, const float* b, float* c, int m, int n, int k) {
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  multiply_kernel<<<grid, kThreads>>>(a, b, c, m, n, k);
}
