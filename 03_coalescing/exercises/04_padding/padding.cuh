// Exercise 03/padding: a transpose without bank conflicts.
#pragma once

#include <cuda_runtime.h>

constexpr int kTile = 32;  // rows and columns of a tile
constexpr int kRows = 8;   // rows of threads in a block: each thread takes kTile / kRows elements

// b[c][r] = a[r][c]; a is rows x cols, b is cols x rows, both row-major, in device memory.
__global__ void transpose_kernel(const float* a, float* b, int rows, int cols) {
  //@ task 1: a tile whose columns are free of bank conflicts
  //@ hint: bank of a word = its number in shared memory modulo 32; which numbers has a column?
  //@ hint: rows of 33 words put neighbours of a column into neighbouring banks
  //@ instead: __shared__ float tile[kTile][kTile];
  //@ begin
  __shared__ float tile[kTile][kTile + 1];
  //@ end
  const int row = blockIdx.y * kTile, col = blockIdx.x * kTile;  // the tile's corner in a
  const int x = threadIdx.x;

  for (int y = threadIdx.y; y < min(kTile, rows - row); y += kRows) {
    if (x < cols - col) tile[y][x] = a[(row + y) * cols + col + x];
  }
  __syncthreads();
  for (int y = threadIdx.y; y < min(kTile, cols - col); y += kRows) {
    if (x < rows - row) b[(col + y) * rows + row + x] = tile[x][y];
  }
}

inline void transpose(const float* a, float* b, int rows, int cols) {
  const dim3 grid((cols + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  transpose_kernel<<<grid, dim3(kTile, kRows)>>>(a, b, rows, cols);
}
