// Exercise 04/repair_tile: a tiled product with four mistakes.
#pragma once

#include <cuda_runtime.h>

constexpr int kTile = 16;

// C = A B; A is m x k, B is k x n, C is m x n, all row-major, in device memory.
__global__ void multiply_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const int y = threadIdx.y, x = threadIdx.x;
  const int row = blockIdx.y * kTile + y, col = blockIdx.x * kTile + x;
  //@ task 1: something is wrong with who takes part
  //@ hint: the loop holds barriers: what do they wait for if some threads have left?
  //@ hint: nobody may leave here; whether a thread is inside of C matters at the store alone
  //@ instead: const bool inside = row < m && col < n;
  //@ instead: if (!inside) return;
  //@ begin
  const bool inside = row < m && col < n;
  //@ end
  float sum = 0;
  for (int p = 0; p < k; p += kTile) {
    //@ task 2: something is wrong with what lies outside of the matrices
    //@ hint: where do the columns of A end, and where do the rows of B end?
    //@ hint: A has k columns, B has k rows; a tile holds zeros past all four edges
    //@ instead: tile_a[y][x] = row < m && p + x < n ? a[row * k + p + x] : 0.0f;
    //@ instead: tile_b[y][x] = p + y < k && col < n ? b[(p + y) * n + col] : 0.0f;
    //@ begin
    tile_a[y][x] = row < m && p + x < k ? a[row * k + p + x] : 0.0f;
    tile_b[y][x] = p + y < k && col < n ? b[(p + y) * n + col] : 0.0f;
    //@ end
    __syncthreads();
    for (int q = 0; q < kTile; ++q) sum = fmaf(tile_a[y][q], tile_b[q][x], sum);
    //@ task 3: something is missing before the next tiles are loaded
    //@ hint: a fast warp stores its next elements while a slow one still multiplies
    //@ hint: a second barrier
    //@ begin
    __syncthreads();
    //@ end
  }
  //@ task 4: something is wrong with where the result goes
  //@ hint: how long is a row of C?
  //@ hint: C has n columns
  //@ instead: if (inside) c[row * k + col] = sum;
  //@ begin
  if (inside) c[row * n + col] = sum;
  //@ end
}

inline void multiply(const float* a, const float* b, float* c, int m, int n, int k) {
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  multiply_kernel<<<grid, dim3(kTile, kTile)>>>(a, b, c, m, n, k);
}
