// Exercise 07/lazy: attention that rescales only when it must.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

constexpr int kD = 32;          // elements of a query, a key, a value: one for each lane
constexpr int kWarps = 4;       // queries of a block
constexpr float kSlack = 8.0f;  // a weight may be as large as 2^8

// o[i] = the mean of the n values, weighted by softmax of the scores; n > 0. The sums of the values
// lie in shared memory here, where it can be counted how often they are touched.
__global__ void attention_kernel(const float* q, const float* k, const float* v, float* o, int n_q,
                                 int n) {
  __shared__ float means[kWarps][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = blockIdx.x * kWarps + warp;
  if (row >= n_q) return;
  const float own = q[row * kD + lane] * (1.44269504f / sqrtf(kD));  // log2(e): weights are 2^score
  float* const mean = &means[warp][lane];                            // this lane's own
  float shift = -INFINITY, sum = 0;  // what is subtracted from the scores; of the weights
  *mean = 0;
  for (int j = 0; j < n; ++j) {
    float score = own * k[j * kD + lane];
    for (int s = 16; s > 0; s /= 2) score += __shfl_xor_sync(0xffffffffu, score, s);
    //@ task 1: a new shift, if a weight would become larger than 2^kSlack; otherwise nothing
    //@ hint: any shift gives the right softmax, as long as no weight overflows
    //@ hint: the score has grown too much if score > shift + kSlack; the first one always has
    //@ hint: then sum and *mean are multiplied by exp2f(shift - score), and shift becomes score
    //@ begin
    if (score > shift + kSlack) {
      const float correction = exp2f(shift - score);
      shift = score;
      sum *= correction;
      *mean *= correction;
    }
    //@ end
    const float weight = exp2f(score - shift);
    sum += weight;
    *mean += weight * v[j * kD + lane];
  }
  o[row * kD + lane] = *mean / sum;
}

inline void attention(const float* q, const float* k, const float* v, float* o, int n_q, int n) {
  attention_kernel<<<(n_q + kWarps - 1) / kWarps, 32 * kWarps>>>(q, k, v, o, n_q, n);
}
