// Exercise 07/topk: the softmax of the four largest scores of each row, and where they are.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

constexpr int kBest = 4;

// Keeps the kBest largest scores, the largest first; of equal ones the smaller place comes first.
__device__ inline void insert(float score, int place, float* best, int* places) {
  for (int b = 0; b < kBest; ++b) {
    if (score > best[b] || (score == best[b] && place < places[b])) {
      const float other = best[b];
      const int its_place = places[b];
      best[b] = score;
      places[b] = place;
      score = other;
      place = its_place;
    }
  }
}

// A row of n scores for each block of 32 threads; n >= kBest. weights and places have kBest
// elements for each row.
__global__ void topk_kernel(const float* x, float* weights, int* places, int n) {
  //@ task 1: the kernel
  //@ hint: each lane walks through every 32nd score, with a maximum, a sum and four best of its own
  //@ hint: a larger maximum: the sum so far times expf(old - new), as in exercise 07/online
  //@ hint: join lanes s = 16, 8, 4, 2, 1 apart by __shfl_xor_sync: maximum, sum, and all four best
  //@ hint: get all four of the other lane's best before you insert the first of them
  //@ hint: a lane without a score has -INFINITY, and -INFINITY - -INFINITY is NaN: leave its sum out
  //@ begin
  const int lane = threadIdx.x;
  const float* row = x + blockIdx.x * n;
  float largest = -INFINITY, sum = 0, best[kBest];
  int at[kBest];
  for (int b = 0; b < kBest; ++b) best[b] = -INFINITY, at[b] = n;
  for (int i = lane; i < n; i += 32) {
    const float score = row[i], larger = fmaxf(largest, score);
    sum = sum * expf(largest - larger) + expf(score - larger);
    largest = larger;
    insert(score, i, best, at);
  }
  for (int s = 16; s > 0; s /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, largest, s);
    const float other_sum = __shfl_xor_sync(0xffffffffu, sum, s);
    const float larger = fmaxf(largest, other);
    sum = (sum > 0 ? sum * expf(largest - larger) : 0.0f) +
          (other_sum > 0 ? other_sum * expf(other - larger) : 0.0f);
    largest = larger;
    float theirs[kBest];
    int their_places[kBest];
    for (int b = 0; b < kBest; ++b) {
      theirs[b] = __shfl_xor_sync(0xffffffffu, best[b], s);
      their_places[b] = __shfl_xor_sync(0xffffffffu, at[b], s);
    }
    for (int b = 0; b < kBest; ++b) insert(theirs[b], their_places[b], best, at);
  }
  if (lane != 0) return;
  for (int b = 0; b < kBest; ++b) {
    weights[blockIdx.x * kBest + b] = expf(best[b] - largest) / sum;
    places[blockIdx.x * kBest + b] = at[b];
  }
  //@ end
}

inline void topk(const float* x, float* weights, int* places, int rows, int n) {
  topk_kernel<<<rows, 32>>>(x, weights, places, n);
}
