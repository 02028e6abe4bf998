// Exercise 04/async: the next tiles travel while the present ones are multiplied.
#pragma once

#include <cuda_runtime.h>

#include "common/kit/ptx/mma.cuh"

constexpr int kTile = 16;

// C = A B; A is m x k, B is k x n, C is m x n, all row-major, in device memory, aligned to 16
// bytes. n and k are multiples of 4.
__global__ void multiply_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  __shared__ alignas(16) float tile_a[2][kTile][kTile], tile_b[2][kTile][kTile];
  const int x = threadIdx.x % kTile, y = threadIdx.x / kTile;
  const int row = blockIdx.y * kTile, col = blockIdx.x * kTile;

  // Issues this thread's part of the copies of the tiles that begin at p: 16 bytes of A by the
  // first 64 threads, 16 bytes of B by the next 64. They run in the background. (Past the edge
  // zeros are stored, and nothing is read.)
  const auto issue = [&](int stage, int p) {
    const int i = threadIdx.x % 64 / 4, j = threadIdx.x % 4 * 4;  // in the tile
    if (threadIdx.x < 64) {
      const bool inside = row + i < m && p + j < k;
      ptx::cp_async_16(&tile_a[stage][i][j], inside ? a + (row + i) * k + p + j : a, inside);
    } else if (threadIdx.x < 128) {
      const bool inside = p + i < k && col + j < n;
      ptx::cp_async_16(&tile_b[stage][i][j], inside ? b + (p + i) * n + col + j : b, inside);
    }
  };

  float sum = 0;
  //@ task 1: the first tiles are on their way before the loop begins
  //@ hint: issue(0, 0) fills stage 0; ptx::cp_async_commit() closes the group of these copies
  //@ begin
  issue(0, 0);
  ptx::cp_async_commit();
  //@ end
  for (int p = 0, stage = 0; p < k; p += kTile, stage ^= 1) {
    //@ task 2: wait for this stage; only then issue the next one into the other stage
    //@ hint: ptx::cp_async_wait<0>() waits for this thread's own copies, not for those of others
    //@ hint: a barrier behind it: all copies have landed, and nobody reads the other stage any more
    //@ hint: issue(stage ^ 1, p + kTile) if there is a next tile, and a commit; no more waiting
    //@ begin
    ptx::cp_async_wait<0>();
    __syncthreads();
    if (p + kTile < k) issue(stage ^ 1, p + kTile);
    ptx::cp_async_commit();
    //@ end
    for (int q = 0; q < kTile; ++q) sum += tile_a[stage][y][q] * tile_b[stage][q][x];
  }
  if (row + y < m && col + x < n) c[(row + y) * n + col + x] = sum;
#endif
}

inline void multiply(const float* a, const float* b, float* c, int m, int n, int k) {
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  multiply_kernel<<<grid, kTile * kTile>>>(a, b, c, m, n, k);
}
