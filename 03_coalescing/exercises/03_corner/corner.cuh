// Exercise 03/corner: a transpose that reads and writes along rows.
#pragma once

#include <cuda_runtime.h>

constexpr int kTile = 32;  // rows and columns of a tile
constexpr int kRows = 8;   // rows of threads in a block: each thread takes kTile / kRows elements

// b[c][r] = a[r][c]; a is rows x cols, b is cols x rows, both row-major, in device memory.
__global__ void transpose_kernel(const float* a, float* b, int rows, int cols) {
  __shared__ float tile[kTile][kTile];
  const int row = blockIdx.y * kTile, col = blockIdx.x * kTile;  // the tile's corner in a

  //@ task 1: load the tile, neighbouring threads taking neighbours of a row of a
  //@ hint: threadIdx.x runs along the row: column col + threadIdx.x
  //@ hint: thread (x, y) loads rows y, y + kRows, y + 2 kRows, ...; leave out what is outside
  //@ begin
  for (int y = threadIdx.y; y < kTile; y += kRows) {
    const int r = row + y, c = col + threadIdx.x;
    if (r < rows && c < cols) tile[y][threadIdx.x] = a[r * cols + c];
  }
  //@ end
  //@ task 2: nobody may read the tile before everybody has written to it
  //@ hint: a barrier of the whole block
  //@ begin
  __syncthreads();
  //@ end
  //@ task 3: store the tile, neighbouring threads taking neighbours of a row of b
  //@ hint: in b the tile's corner is row `col`, column `row`
  //@ hint: thread (x, y) stores tile[x][y], for y, y + kRows, ...: to row col + y, column row + x
  //@ begin
  for (int y = threadIdx.y; y < kTile; y += kRows) {
    const int r = col + y, c = row + threadIdx.x;
    if (r < cols && c < rows) b[r * rows + c] = tile[threadIdx.x][y];
  }
  //@ end
}

inline void transpose(const float* a, float* b, int rows, int cols) {
  const dim3 grid((cols + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  transpose_kernel<<<grid, dim3(kTile, kRows)>>>(a, b, rows, cols);
}
