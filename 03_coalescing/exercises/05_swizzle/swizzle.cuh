// Exercise 03/swizzle: a square tile without bank conflicts.
#pragma once

#include <cuda_runtime.h>

constexpr int kTile = 32;  // rows and columns of a tile
constexpr int kRows = 8;   // rows of threads in a block: each thread takes kTile / kRows elements

// The column of the tile in which element (row, col) is kept. Every row keeps its 32 elements, in
// an order of its own.
__device__ inline int place(int row, int col) {
  //@ task 1: an order in which the 32 elements of a column lie in 32 different banks
  //@ hint: rows are 32 words long, so the bank of a word is its place in the row
  //@ hint: for a fixed col all 32 rows must give different places, and for a fixed row all cols
  //@ hint: exclusive or does both: for a fixed a, a ^ b takes each value once
  //@ instead: return 0;
  //@ begin
  return col ^ row;
  //@ end
}

// b[c][r] = a[r][c]; a is rows x cols, b is cols x rows, both row-major, in device memory.
__global__ void transpose_kernel(const float* a, float* b, int rows, int cols) {
  __shared__ float tile[kTile][kTile];
  const int row = blockIdx.y * kTile, col = blockIdx.x * kTile;  // the tile's corner in a
  const int x = threadIdx.x;

  for (int y = threadIdx.y; y < kTile; y += kRows) {
    if (row + y < rows && col + x < cols) tile[y][place(y, x)] = a[(row + y) * cols + col + x];
  }
  __syncthreads();
  for (int y = threadIdx.y; y < kTile; y += kRows) {
    if (col + y < cols && row + x < rows) b[(col + y) * rows + row + x] = tile[x][place(x, y)];
  }
}

inline void transpose(const float* a, float* b, int rows, int cols) {
  const dim3 grid((cols + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  transpose_kernel<<<grid, dim3(kTile, kRows)>>>(a, b, rows, cols);
}
