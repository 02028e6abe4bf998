// Exercise 01/view: adds a matrix to a part of a larger one.
#pragma once

#include <cuda_runtime.h>

// to[r * pitch + c] += a * from[r * cols + c] for all r < rows, c < cols; rows is at most 65,535.
// Both point to device memory, `to` at the part's first element.
__global__ void add_to_view_kernel(float a, const float* from, float* to, int rows, int cols,
                                   int pitch) {
  //@ task 1: one element per thread, in a grid of two dimensions
  //@ hint: blocks and grids have a y, too: blockIdx.y * blockDim.y + threadIdx.y
  //@ hint: let x choose the column and y the row; a thread outside of either does nothing
  //@ answer: the column follows threadIdx.x: a warp then loads 128 bytes that lie side by side
  //@ begin
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  const int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < cols) to[r * pitch + c] += a * from[r * cols + c];
  //@ end
}

inline void add_to_view(float a, const float* from, float* to, int rows, int cols, int pitch) {
  //@ task 2: one launch that covers all rows and columns
  //@ hint: dim3 block(32, 8) has 256 threads, 32 of them along a row
  //@ hint: dim3 grid(blocks along a row, blocks down a column), both rounded up
  //@ begin
  const dim3 block(32, 8);
  const dim3 grid((cols + block.x - 1) / block.x, (rows + block.y - 1) / block.y);
  add_to_view_kernel<<<grid, block>>>(a, from, to, rows, cols, pitch);
  //@ end
}
