// Exercise 03/scale_rows: a matrix whose rows are scaled.
#pragma once

#include <cuda_runtime.h>

// a[r][c] *= s[r] for all r < rows, c < cols. a is row-major; both point to device memory.
__global__ void scale_rows_kernel(const float* s, float* a, int rows, int cols) {
  //@ task 1: right, but slow: a thread walks along a row; let the lanes of a warp share it
  //@ hint: 32 lanes that walk along 32 rows are always a row apart: every request has 32 sectors
  //@ hint: one thread per element: threadIdx.x along the row, threadIdx.y for the row
  //@ instead: const int r = blockIdx.x * blockDim.x + threadIdx.x;
  //@ instead: if (r >= rows) return;
  //@ instead: for (int c = 0; c < cols; ++c) a[r * cols + c] *= s[r];
  //@ begin
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  const int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < cols) a[r * cols + c] *= s[r];
  //@ end
}

inline void scale_rows(const float* s, float* a, int rows, int cols) {
  //@ task 2: the launch that belongs to it
  //@ hint: dim3 block(32, 8); as many blocks as cover the columns in x, the rows in y
  //@ instead: scale_rows_kernel<<<(rows + 127) / 128, 128>>>(s, a, rows, cols);
  //@ begin
  const dim3 block(32, 8);
  const dim3 grid((cols + block.x - 1) / block.x, (rows + block.y - 1) / block.y);
  scale_rows_kernel<<<grid, block>>>(s, a, rows, cols);
  //@ end
}
