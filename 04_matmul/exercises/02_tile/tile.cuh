// Exercise 04/tile: a matrix product from tiles in shared memory.
#pragma once

#include <cuda_runtime.h>

constexpr int kTile = 16;

// C = A B; A is m x k, B is k x n, C is m x n, all row-major, in device memory.
__global__ void multiply_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const int y = threadIdx.y, x = threadIdx.x;
  const int row = blockIdx.y * kTile + y, col = blockIdx.x * kTile + x;
  float sum = 0;
  for (int p = 0; p < k; p += kTile) {
    //@ task 1: this thread's element of either tile; 0 where the matrix has no such element
    //@ hint: the tile of A has the block's rows and columns p ... p + kTile - 1 of A
    //@ hint: tile_a[y][x] is A's element (row, p + x), tile_b[y][x] is B's element (p + y, col)
    //@ hint: A has m rows and k columns, B has k rows and n columns: two tests for each
    //@ begin
    tile_a[y][x] = row < m && p + x < k ? a[row * k + p + x] : 0.0f;
    tile_b[y][x] = p + y < k && col < n ? b[(p + y) * n + col] : 0.0f;
    //@ end
    //@ task 2: multiply the tiles, when they are complete, and before they are overwritten
    //@ hint: sum += tile_a[y][q] * tile_b[q][x] for all q
    //@ hint: one barrier before the loop over q; one behind it, or a fast warp loads too soon
    //@ begin
    __syncthreads();
    for (int q = 0; q < kTile; ++q) sum += tile_a[y][q] * tile_b[q][x];
    __syncthreads();
    //@ end
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

inline void multiply(const float* a, const float* b, float* c, int m, int n, int k) {
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  multiply_kernel<<<grid, dim3(kTile, kTile)>>>(a, b, c, m, n, k);
}
