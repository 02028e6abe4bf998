// Exercise 07/gradient: the gradient of the scores, without a look along a row.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

constexpr int kD = 16;  // elements of a query, a key, a value

__device__ inline float dot(const float* a, const float* b) {
  float sum = 0;
  for (int c = 0; c < kD; ++c) sum += a[c] * b[c];
  return sum;
}

// mean[i] = the sum over all keys j of P[i][j] dP[i][j].
__global__ void mean_kernel(const float* q, const float* k, const float* v, const float* o,
                            const float* d_o, const float* lse, float* mean, int n_q, int n_k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n_q) return;
  //@ task 1: D of row i
  //@ hint: dP[i][j] is the product of the rows d_o[i] and v[j]; P v summed over j is a row you know
  //@ hint: the sum of P[i][j] v[j] over all j is o[i]
  //@ hint: mean[i] = the product of the rows o[i] and d_o[i]
  //@ begin
  mean[i] = dot(o + i * kD, d_o + i * kD);
  //@ end
}

// d_s[i][j] = P[i][j] (dP[i][j] - D[i]), a thread for each pair of a query and a key.
__global__ void gradient_kernel(const float* q, const float* k, const float* v, const float* d_o,
                                const float* lse, const float* mean, float* d_s, int n_q, int n_k) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
  if (j >= n_k) return;
  const float score = dot(q + i * kD, k + j * kD) / sqrtf(kD);
  const float d_p = dot(d_o + i * kD, v + j * kD);
  //@ task 2: the weight again, and the gradient of the score
  //@ hint: the weight needs no sum: the log-sum-exp of the row is known
  //@ hint: P[i][j] = exp(score - lse[i]): never above 1, so nothing overflows
  //@ hint: d_s[i * n_k + j] = P[i][j] * (d_p - mean[i])
  //@ begin
  const float weight = expf(score - lse[i]);
  d_s[i * n_k + j] = weight * (d_p - mean[i]);
  //@ end
}

// mean: room for n_q floats.
inline void gradient(const float* q, const float* k, const float* v, const float* o,
                     const float* d_o, const float* lse, float* mean, float* d_s, int n_q,
                     int n_k) {
  mean_kernel<<<(n_q + 63) / 64, 64>>>(q, k, v, o, d_o, lse, mean, n_q, n_k);
  const dim3 grid((n_k + 63) / 64, n_q);
  gradient_kernel<<<grid, 64>>>(q, k, v, d_o, lse, mean, d_s, n_q, n_k);
}
