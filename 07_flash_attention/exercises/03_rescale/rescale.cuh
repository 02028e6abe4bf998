// Exercise 07/rescale: attention in one pass over the keys, a warp for each query.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

constexpr int kD = 32;  // elements of a query, a key, a value: one for each lane
constexpr int kWarps = 4;

// q and o are n_q x kD, k and v are n x kD, all row-major; lse has n_q elements. Row i of q and row
// j of k have the score q[i] k[j] / sqrt(kD). o[i] = the mean of the n rows of v, weighted by
// softmax of the scores of row i; lse[i] = the logarithm of the sum of their exponentials.
__global__ void attention_kernel(const float* q, const float* k, const float* v, float* o,
                                 float* lse, int n_q, int n) {
  const int lane = threadIdx.x % 32, row = blockIdx.x * kWarps + threadIdx.x / 32;
  if (row >= n_q) return;
  const float own = q[row * kD + lane] / sqrtf(kD);
  float largest = -INFINITY;  // of the scores so far
  float sum = 0;              // of the weights so far, exp(score - largest)
  float mean = 0;             // the sum of weight * value so far: a mean once `sum` divides it
  for (int j = 0; j < n; ++j) {
    float score = own * k[j * kD + lane];
    for (int s = 16; s > 0; s /= 2) score += __shfl_xor_sync(0xffffffffu, score, s);
    const float value = v[j * kD + lane];
    //@ task 1: take the score into largest and sum, and the value into mean
    //@ hint: m' = max(m, s): first the new maximum; keep the old one for a moment
    //@ hint: what was summed so far belongs to the old maximum: multiply it by exp(m - m')
    //@ hint: sum and mean alike: sum * correction + weight, mean * correction + weight * value
    //@ begin
    const float larger = fmaxf(largest, score);
    const float correction = expf(largest - larger), weight = expf(score - larger);
    largest = larger;
    sum = sum * correction + weight;
    mean = mean * correction + weight * value;
    //@ end
  }
  //@ task 2: the results of the row
  //@ hint: mean is not divided by the sum of the weights yet
  //@ hint: ln of the sum of exp(score) = largest + ln of the sum of exp(score - largest)
  //@ hint: every lane stores its element of o; lane 0 stores lse[row]
  //@ begin
  o[row * kD + lane] = mean / sum;
  if (lane == 0) lse[row] = largest + logf(sum);
  //@ end
}

inline void attention(const float* q, const float* k, const float* v, float* o, float* lse, int n_q,
                      int n) {
  attention_kernel<<<(n_q + kWarps - 1) / kWarps, 32 * kWarps>>>(q, k, v, o, lse, n_q, n);
}
