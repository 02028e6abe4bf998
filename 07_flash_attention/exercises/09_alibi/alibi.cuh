// Exercise 07/alibi: causal attention that prefers what is near (ALiBi).
#pragma once

#include <cuda_runtime.h>

#include <cmath>

constexpr int kD = 16;  // elements of a query, a key, a value

// q, o: heads x n_q x d. k, v: heads x n_k x d. slope: one per head. A thread for each query.
__global__ void attention_kernel(const float* q, const float* k, const float* v, const float* slope,
                                 float* o, int heads, int n_q, int n_k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, head = blockIdx.y;
  if (i >= n_q) return;
  q += (head * n_q + i) * kD;
  o += (head * n_q + i) * kD;
  k += head * n_k * kD;
  v += head * n_k * kD;
  float mean[kD] = {}, largest = -INFINITY, sum = 0;
  //@ task 1: all keys that the query sees: their scores, with the bias, into largest, sum and mean
  //@ hint: first without the bias: the loop of exercise 07/rescale, for the keys of 07/diagonal
  //@ hint: the query stands at place i + n_k - n_q among the keys; its distance from key j is that - j
  //@ hint: score = q k / sqrt(d) - slope[head] * distance: the slope is not divided by sqrt(d)
  //@ begin
  const int place = i + n_k - n_q;
  for (int j = 0; j <= place; ++j) {
    float score = 0;
    for (int c = 0; c < kD; ++c) score += q[c] * k[j * kD + c];
    score = score / sqrtf(kD) - slope[head] * (place - j);
    const float larger = fmaxf(largest, score);
    const float correction = expf(largest - larger), weight = expf(score - larger);
    largest = larger;
    sum = sum * correction + weight;
    for (int c = 0; c < kD; ++c) mean[c] = mean[c] * correction + weight * v[j * kD + c];
  }
  //@ end
  for (int c = 0; c < kD; ++c) o[c] = sum > 0 ? mean[c] / sum : 0.0f;
}

inline void attention(const float* q, const float* k, const float* v, const float* slope, float* o,
                      int heads, int n_q, int n_k) {
  attention_kernel<<<dim3((n_q + 31) / 32, heads), 32>>>(q, k, v, slope, o, heads, n_q, n_k);
}
