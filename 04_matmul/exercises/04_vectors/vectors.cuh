// Exercise 04/vectors: tiles that are loaded 16 bytes at a time.
#pragma once

#include <cuda_runtime.h>

constexpr int kTile = 32;   // a block computes kTile x kTile elements of C,
constexpr int kTileK = 8;   // kTileK products of each at a time,
constexpr int kThread = 4;  // and a thread kThread x kThread of them
constexpr int kThreads = kTile * kTile / (kThread * kThread);
static_assert(kTile * kTileK == 4 * kThreads, "each thread loads one float4 of either tile");

// Elements (row, col) to (row, col + 3) of a rows x cols matrix, zeros where it has none. cols and
// col are multiples of 4, and x is aligned to 16 bytes.
__device__ inline float4 four_or_zero(const float* x, int row, int col, int rows, int cols) {
  //@ task 1: one load of 16 bytes
  //@ hint: four neighbours are inside or outside together, since cols and col are multiples of 4
  //@ hint: *reinterpret_cast<const float4*>(x + row * cols + col), or make_float4(0, 0, 0, 0)
  //@ instead: return make_float4(0, 0, 0, 0);
  //@ begin
  if (row >= rows || col >= cols) return make_float4(0, 0, 0, 0);
  return *reinterpret_cast<const float4*>(x + row * cols + col);
  //@ end
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major, in device memory, aligned to 16
// bytes. n and k are multiples of 4.
__global__ void multiply_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ alignas(16) float tile_a[kTileK][kTile], tile_b[kTileK][kTile];
  const int row = blockIdx.y * kTile, col = blockIdx.x * kTile, t = threadIdx.x;
  const int a_row = t / (kTileK / 4),
            a_col = t % (kTileK / 4) * 4;                          // of this thread's float4 of A,
  const int b_row = t / (kTile / 4), b_col = t % (kTile / 4) * 4;  // and of its float4 of B
  const int y = t / (kTile / kThread) * kThread, x = t % (kTile / kThread) * kThread;
  float acc[kThread][kThread] = {};
  for (int p = 0; p < k; p += kTileK) {
    const float4 from_a = four_or_zero(a, row + a_row, p + a_col, m, k);
    const float4 from_b = four_or_zero(b, p + b_row, col + b_col, k, n);
    //@ task 2: both into their tiles; that of A is transposed: tile_a[q][r] is column q of row r
    //@ hint: B's four neighbours stay neighbours: one store of 16 bytes to &tile_b[b_row][b_col]
    //@ hint: A's four neighbours belong to four values of k: four stores, one below the other
    //@ hint: tile_a[a_col][a_row] = from_a.x, tile_a[a_col + 1][a_row] = from_a.y, ...
    //@ begin
    tile_a[a_col][a_row] = from_a.x;
    tile_a[a_col + 1][a_row] = from_a.y;
    tile_a[a_col + 2][a_row] = from_a.z;
    tile_a[a_col + 3][a_row] = from_a.w;
    *reinterpret_cast<float4*>(&tile_b[b_row][b_col]) = from_b;
    //@ end
    __syncthreads();
    for (int q = 0; q < kTileK; ++q) {
      const float4 u = *reinterpret_cast<const float4*>(&tile_a[q][y]);
      const float4 v = *reinterpret_cast<const float4*>(&tile_b[q][x]);
      const float rows[4] = {u.x, u.y, u.z, u.w}, cols[4] = {v.x, v.y, v.z, v.w};
      for (int r = 0; r < kThread; ++r) {
        for (int s = 0; s < kThread; ++s) acc[r][s] += rows[r] * cols[s];
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < kThread; ++r) {
    const int i = row + y + r, j = col + x;
    if (i >= m || j >= n) continue;
    *reinterpret_cast<float4*>(c + i * n + j) =
        make_float4(acc[r][0], acc[r][1], acc[r][2], acc[r][3]);
  }
}

inline void multiply(const float* a, const float* b, float* c, int m, int n, int k) {
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  multiply_kernel<<<grid, kThreads>>>(a, b, c, m, n, k);
}
