// Exercise 07/window: attention to the last `window` keys.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

constexpr int kD = 16;      // elements of a query, a key, a value
constexpr int kTileM = 32;  // queries of a block, one for each thread
constexpr int kTileN = 16;  // keys and values in shared memory at a time

// One head of n queries, keys and values. Query i sees the keys i - window + 1 .. i, those of them
// that there are; window > 0.
__global__ void attention_kernel(const float* q, const float* k, const float* v, float* o, int n,
                                 int window) {
  //@ task 1: the kernel
  //@ hint: exercise 07/diagonal has one that begins at key 0 and stops at the diagonal
  //@ hint: the first query of a block sees the earliest key, the last one the latest
  //@ hint: begin at that earliest key, but not before 0; in a tile each query takes its own keys only
  //@ begin
  __shared__ float tile_k[kTileN][kD], tile_v[kTileN][kD];
  const int first_row = blockIdx.x * kTileM, row = first_row + threadIdx.x;
  const int from = max(0, first_row - window + 1), to = min(n, first_row + kTileM);
  float own[kD], mean[kD] = {}, largest = -INFINITY, sum = 0;
  for (int c = 0; c < kD; ++c) own[c] = row < n ? q[row * kD + c] / sqrtf(kD) : 0.0f;
  for (int first = from; first < to; first += kTileN) {
    for (int e = threadIdx.x; e < kTileN * kD; e += kTileM) {
      const bool inside = first + e / kD < to;
      tile_k[e / kD][e % kD] = inside ? k[first * kD + e] : 0.0f;
      tile_v[e / kD][e % kD] = inside ? v[first * kD + e] : 0.0f;
    }
    __syncthreads();
    const int begin = max(0, row - window + 1 - first), end = min(kTileN, row + 1 - first);
    for (int j = begin; j < end; ++j) {
      float score = 0;
      for (int c = 0; c < kD; ++c) score += own[c] * tile_k[j][c];
      const float larger = fmaxf(largest, score);
      const float correction = expf(largest - larger), weight = expf(score - larger);
      largest = larger;
      sum = sum * correction + weight;
      for (int c = 0; c < kD; ++c) mean[c] = mean[c] * correction + weight * tile_v[j][c];
    }
    __syncthreads();
  }
  if (row >= n) return;
  for (int c = 0; c < kD; ++c) o[row * kD + c] = mean[c] / sum;
  //@ end
}

inline void attention(const float* q, const float* k, const float* v, float* o, int n, int window) {
  attention_kernel<<<(n + kTileM - 1) / kTileM, kTileM>>>(q, k, v, o, n, window);
}
