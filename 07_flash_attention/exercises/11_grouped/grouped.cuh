// Exercise 07/grouped: one new token; several query heads share the keys and values of one head.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

constexpr int kD = 32;     // elements of a query, a key, a value: one for each lane
constexpr int kGroup = 4;  // query heads that share a head of keys and values
constexpr int kWarps = 4;  // of a block

__device__ inline float over_warp(float sum) {
  for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, s);
  return sum;
}

// q, o: one row of d for each query head, kGroup of them for each of kv_heads heads. k, v:
// kv_heads x n x d, n > 0.
//@ task 1: each key and each value leaves global memory once, not kGroup times
//@ hint: give a block a head of keys and values; each of its warps takes every fourth key
//@ hint: a lane loads one element of a key and of a value, and uses them for all kGroup queries
//@ hint: each warp ends with kGroup states (largest, sum, mean): join those of the warps (07/merge)
//@ instead: __global__ void decode_kernel(const float* q, const float* k, const float* v, float* o,
//@ instead:                               int n) {
//@ instead:   const int head = blockIdx.x, lane = threadIdx.x;
//@ instead:   k += head / kGroup * n * kD;
//@ instead:   v += head / kGroup * n * kD;
//@ instead:   const float own = q[head * kD + lane] / sqrtf(kD);
//@ instead:   float largest = -INFINITY, sum = 0, mean = 0;
//@ instead:   for (int j = 0; j < n; ++j) {
//@ instead:     const float score = over_warp(own * k[j * kD + lane]);
//@ instead:     const float larger = fmaxf(largest, score);
//@ instead:     const float correction = expf(largest - larger), weight = expf(score - larger);
//@ instead:     largest = larger;
//@ instead:     sum = sum * correction + weight;
//@ instead:     mean = mean * correction + weight * v[j * kD + lane];
//@ instead:   }
//@ instead:   o[head * kD + lane] = mean / sum;
//@ instead: }
//@ instead: inline void decode(const float* q, const float* k, const float* v, float* o,
//@ instead:                    int kv_heads, int n) {
//@ instead:   decode_kernel<<<kv_heads * kGroup, 32>>>(q, k, v, o, n);
//@ instead: }
//@ begin
__global__ void decode_kernel(const float* q, const float* k, const float* v, float* o, int n) {
  __shared__ float largests[kWarps][kGroup], sums[kWarps][kGroup], means[kWarps][kGroup][kD];
  const int head = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  k += head * n * kD;
  v += head * n * kD;
  float own[kGroup], largest[kGroup], sum[kGroup] = {}, mean[kGroup] = {};
  for (int g = 0; g < kGroup; ++g) {
    own[g] = q[(head * kGroup + g) * kD + lane] / sqrtf(kD);
    largest[g] = -INFINITY;
  }

  // A key and a value serve all queries of the group.
  for (int j = warp; j < n; j += kWarps) {
    const float key = k[j * kD + lane], value = v[j * kD + lane];
    for (int g = 0; g < kGroup; ++g) {
      const float score = over_warp(own[g] * key);
      const float larger = fmaxf(largest[g], score);
      const float correction = expf(largest[g] - larger), weight = expf(score - larger);
      largest[g] = larger;
      sum[g] = sum[g] * correction + weight;
      mean[g] = mean[g] * correction + weight * value;
    }
  }
  for (int g = 0; g < kGroup; ++g) {
    means[warp][g][lane] = mean[g];
    if (lane == 0) {
      largests[warp][g] = largest[g];
      sums[warp][g] = sum[g];
    }
  }
  __syncthreads();

  // Warp g joins what the warps have found for query g. A warp without a key weighs 0.
  static_assert(kGroup == kWarps, "a warp for each query of the group");
  float all = -INFINITY, total = 0, joined = 0;
  for (int w = 0; w < kWarps; ++w) all = fmaxf(all, largests[w][warp]);
  for (int w = 0; w < kWarps; ++w) {
    const float share = expf(largests[w][warp] - all);
    total += share * sums[w][warp];
    joined += share * means[w][warp][lane];
  }
  o[(head * kGroup + warp) * kD + lane] = joined / total;
}

inline void decode(const float* q, const float* k, const float* v, float* o, int kv_heads, int n) {
  decode_kernel<<<kv_heads, 32 * kWarps>>>(q, k, v, o, n);
}
//@ end
