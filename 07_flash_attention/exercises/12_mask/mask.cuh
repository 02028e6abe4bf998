// Exercise 07/mask: causal attention by tiles of scores.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

constexpr int kD = 16;      // elements of a query, a key, a value
constexpr int kTileN = 16;  // keys of a tile

// One head: q and o are n_q x d, k and v n_k x d; lse has one float per query. A query that sees no
// key has o = 0 and lse = -INFINITY. A thread for each query; a tile's scores are made first, then
// used.
__global__ void attention_kernel(const float* q, const float* k, const float* v, float* o,
                                 float* lse, int n_q, int n_k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n_q) return;
  float own[kD], mean[kD] = {}, largest = -INFINITY, sum = 0;
  for (int c = 0; c < kD; ++c) own[c] = q[i * kD + c] / sqrtf(kD);
  for (int first = 0; first < n_k; first += kTileN) {
    float score[kTileN], larger = largest;
    for (int j = 0; j < kTileN; ++j) {
      const int key = first + j;
      score[j] = 0;
      if (key < n_k) {
        for (int c = 0; c < kD; ++c) score[j] += own[c] * k[key * kD + c];
      }
      //@ task 1: which keys does query i see?
      //@ hint: two sorts of keys are not seen: those after the query's place, those that do not exist
      //@ hint: the last query sees all n_k keys, whatever n_q is
      //@ hint: a score that is not seen is -INFINITY; one comparison at the right corner catches both
      //@ instead: if (key > i) score[j] = -INFINITY;
      //@ begin
      if (key > i + n_k - n_q) score[j] = -INFINITY;
      //@ end
      larger = fmaxf(larger, score[j]);
    }
    //@ task 2: what is subtracted from the scores
    //@ hint: a query that has seen no key yet has larger = -INFINITY
    //@ hint: -INFINITY - -INFINITY is NaN, and a NaN stays
    //@ hint: subtract 0 in that case: exp(-INFINITY - 0) is the weight 0
    //@ instead: const float shift = larger;
    //@ begin
    const float shift = larger == -INFINITY ? 0.0f : larger;
    //@ end
    const float correction = expf(largest - shift);
    largest = larger;
    //@ task 3: bring what was summed so far to the new scale
    //@ hint: two things were summed with weights: the weights themselves, and the values
    //@ hint: both are multiplied by the correction
    //@ hint: sum, and all kD elements of mean
    //@ instead: sum *= correction;
    //@ begin
    sum *= correction;
    for (int c = 0; c < kD; ++c) mean[c] *= correction;
    //@ end
    for (int j = 0; j < kTileN && first + j < n_k; ++j) {
      const float weight = expf(score[j] - shift);
      for (int c = 0; c < kD; ++c) mean[c] += weight * v[(first + j) * kD + c];
    }
    for (int j = 0; j < kTileN; ++j) sum += expf(score[j] - shift);
  }
  for (int c = 0; c < kD; ++c) o[i * kD + c] = sum > 0 ? mean[c] / sum : 0.0f;
  lse[i] = largest + logf(sum);
}

inline void attention(const float* q, const float* k, const float* v, float* o, float* lse, int n_q,
                      int n_k) {
  attention_kernel<<<(n_q + 31) / 32, 32>>>(q, k, v, o, lse, n_q, n_k);
}
