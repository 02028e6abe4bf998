// Exercise 05/rows: the sums of rows of different lengths.
#pragma once

#include <cuda_runtime.h>

constexpr int kBlock = 128;

//@ task 1: sums[r] = x[begin[r]] + ... + x[begin[r + 1] - 1] for all r < rows; an empty row has 0
//@ hint: threads that walk through different rows load from 32 places at once: share a row instead
//@ hint: give each row a warp: its lanes load 32 neighbours of the row at a time
//@ hint: row = the warp's number in the grid; lanes begin at begin[row] + lane; then five shuffles
//@ instead: __global__ void sum_rows_kernel(const float* x, const int* begin, int rows, float* sums) {
//@ instead:   const int row = blockIdx.x * kBlock + threadIdx.x;
//@ instead:   if (row >= rows) return;
//@ instead:   float sum = 0;
//@ instead:   for (int i = begin[row]; i < begin[row + 1]; ++i) sum += x[i];
//@ instead:   sums[row] = sum;
//@ instead: }
//@ instead: inline void sum_rows(const float* x, const int* begin, int rows, float* sums) {
//@ instead:   sum_rows_kernel<<<(rows + kBlock - 1) / kBlock, kBlock>>>(x, begin, rows, sums);
//@ instead: }
//@ begin
__global__ void sum_rows_kernel(const float* x, const int* begin, int rows, float* sums) {
  const int row = (blockIdx.x * kBlock + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;  // the whole warp
  float sum = 0;
  const int end = begin[row + 1];
  for (int i = begin[row] + lane; i < end; i += 32) sum += x[i];
  for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffffu, sum, s);
  if (lane == 0) sums[row] = sum;
}

inline void sum_rows(const float* x, const int* begin, int rows, float* sums) {
  const int warps = kBlock / 32;
  sum_rows_kernel<<<(rows + warps - 1) / warps, kBlock>>>(x, begin, rows, sums);
}
//@ end
