// Exercise 05/sweep: the scan of a tile with two sweeps over a tree (Blelloch).
#pragma once

#include <cuda_runtime.h>

constexpr int kTile = 512;
constexpr int kBlock = kTile / 2;

// y[i] = the sum of the elements before x[i] in its tile of 512; 0 for the first of a tile.
__global__ void scan_tiles_kernel(const float* x, float* y, int n) {
  __shared__ float tile[kTile];
  const int t = threadIdx.x, first = blockIdx.x * kTile;
  for (int k = t; k < kTile; k += kBlock) tile[k] = first + k < n ? x[first + k] : 0.0f;
  __syncthreads();

  //@ task 1: up, s = 1, 2, 4, ... 256: the last element of 2 s neighbours becomes their sum
  //@ hint: groups of 2 s end at elements 2 s - 1, 4 s - 1, ...: thread t takes the group number t
  //@ hint: its end is right = (t + 1) * 2 * s - 1, if that is less than kTile
  //@ hint: tile[right] += tile[right - s], and a barrier for all threads after each step
  //@ begin
  for (int s = 1; s < kTile; s *= 2) {
    const int right = (t + 1) * 2 * s - 1;
    if (right < kTile) tile[right] += tile[right - s];
    __syncthreads();
  }
  //@ end

  if (t == 0) tile[kTile - 1] = 0;  // nothing lies before the whole tile
  __syncthreads();

  //@ task 2: down, s = 256, 128, ... 1: the end of a group holds what lies before the group
  //@ hint: the left half begins where the group begins: it gets the value as it is
  //@ hint: before the right half lies that value and the sum of the left half, in tile[right - s]
  //@ hint: keep both; tile[right - s] gets what tile[right] was, tile[right] the sum of both; barrier
  //@ begin
  for (int s = kTile / 2; s > 0; s /= 2) {
    const int right = (t + 1) * 2 * s - 1;
    if (right < kTile) {
      const float of_left = tile[right - s], before = tile[right];
      tile[right - s] = before;
      tile[right] = before + of_left;
    }
    __syncthreads();
  }
  //@ end

  for (int k = t; k < kTile; k += kBlock) {
    if (first + k < n) y[first + k] = tile[k];
  }
}

inline void scan_tiles(const float* x, float* y, int n) {
  scan_tiles_kernel<<<(n + kTile - 1) / kTile, kBlock>>>(x, y, n);
}
