// Exercise 04/a_transposed: C = A^T B.
#pragma once

#include <cuda_runtime.h>

//@ task 1: the kernel
//@ hint: the loop is that of exercise 04/tile; but A's element (p, i) is a[p * m + i]
//@ hint: let lanes run along a row of A: tile_a[q][i] holds k in its rows, as tile_b does
//@ hint: sum += tile_a[q][y] * tile_b[q][x]: no transposing is needed at all
//@ begin
constexpr int kTile = 16;

__global__ void multiply_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const int y = threadIdx.y, x = threadIdx.x;
  const int row = blockIdx.y * kTile, col = blockIdx.x * kTile;
  float sum = 0;
  for (int p = 0; p < k; p += kTile) {
    tile_a[y][x] = p + y < k && row + x < m ? a[(p + y) * m + row + x] : 0.0f;
    tile_b[y][x] = p + y < k && col + x < n ? b[(p + y) * n + col + x] : 0.0f;
    __syncthreads();
    for (int q = 0; q < kTile; ++q) sum += tile_a[q][y] * tile_b[q][x];
    __syncthreads();
  }
  if (row + y < m && col + x < n) c[(row + y) * n + col + x] = sum;
}
//@ end

// C = A^T B; A is k x m, B is k x n, C is m x n, all row-major, in device memory.
inline void multiply(const float* a, const float* b, float* c, int m, int n, int k) {
  //@ task 2: the launch
  //@ hint: a block of kTile x kTile threads for each tile of C
  //@ begin
  const dim3 tiles((n - 1) / kTile + 1, (m - 1) / kTile + 1), threads(kTile, kTile);
  multiply_kernel<<<tiles, threads>>>(a, b, c, m, n, k);
  //@ end
}
