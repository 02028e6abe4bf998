// Exercise 07/diagonal: attention with a causal mask that stops at the diagonal.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

constexpr int kD = 16;      // elements of a query, a key, a value
constexpr int kTileM = 32;  // queries of a block, one for each thread
constexpr int kTileN = 16;  // keys and values in shared memory at a time

// How many keys query i sees: keys 0 .. count - 1. The last query sees all of them.
__device__ inline int visible_keys(int i, int n_q, int n_k) {
  //@ task 1: keys j <= i + n_k - n_q, which may be none
  //@ hint: the last query is i = n_q - 1; it sees n_k keys
  //@ hint: one query earlier sees one key less; so how many does query i see?
  //@ hint: i + 1 + n_k - n_q, but not less than 0
  //@ instead: return 0;
  //@ begin
  return max(0, i + 1 + n_k - n_q);
  //@ end
}

// One head: q and o are n_q x d, k and v n_k x d. A query that sees no key gets 0.
__global__ void attention_kernel(const float* q, const float* k, const float* v, float* o, int n_q,
                                 int n_k) {
  __shared__ float tile_k[kTileN][kD], tile_v[kTileN][kD];
  const int first_row = blockIdx.x * kTileM, row = first_row + threadIdx.x;
  const int visible = row < n_q ? visible_keys(row, n_q, n_k) : 0;
  //@ task 2: how many keys does the block have to load?
  //@ hint: those that at least one of its queries sees
  //@ hint: the last of its queries sees the most; the last block may have fewer than kTileM queries
  //@ hint: visible_keys(min(n_q, first_row + kTileM) - 1, n_q, n_k)
  //@ instead: const int keys = 0;
  //@ begin
  const int keys = visible_keys(min(n_q, first_row + kTileM) - 1, n_q, n_k);
  //@ end

  float own[kD], mean[kD] = {}, largest = -INFINITY, sum = 0;
  for (int c = 0; c < kD; ++c) own[c] = row < n_q ? q[row * kD + c] / sqrtf(kD) : 0.0f;
  for (int first = 0; first < keys; first += kTileN) {
    for (int e = threadIdx.x; e < kTileN * kD; e += kTileM) {
      const bool inside = first + e / kD < n_k;
      tile_k[e / kD][e % kD] = inside ? k[first * kD + e] : 0.0f;
      tile_v[e / kD][e % kD] = inside ? v[first * kD + e] : 0.0f;
    }
    __syncthreads();
    for (int j = 0; j < kTileN && first + j < visible; ++j) {
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
  if (row >= n_q) return;
  for (int c = 0; c < kD; ++c) o[row * kD + c] = sum > 0 ? mean[c] / sum : 0.0f;
}

inline void attention(const float* q, const float* k, const float* v, float* o, int n_q, int n_k) {
  attention_kernel<<<(n_q + kTileM - 1) / kTileM, kTileM>>>(q, k, v, o, n_q, n_k);
}
