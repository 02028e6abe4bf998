// One step of the online softmax by a team: kD / 8 neighbouring lanes that share a key. A lane has
// eight of its elements, which one load of 16 bytes brings, and the same eight of each of kQueries
// queries: a key that was loaded serves all of them.
//
// Scores are in base 2 (log2(e) joins the scale of the queries), so a weight is one power of two.
#pragma once

#include <cuda_runtime.h>

#include <cfloat>
#include <cmath>

#include "07_flash_attention/decode/shape.hpp"
#include "07_flash_attention/shape.hpp"

namespace decode {

// Eight elements of 16 bits, as one access brings them.
template <class T>
__device__ void to_floats(const uint4& chunk, float (&x)[8]) {
  const T* element = reinterpret_cast<const T*>(&chunk);
#pragma unroll
  for (int i = 0; i < 8; ++i) x[i] = static_cast<float>(element[i]);
}

template <class T, int kD, int kQueries>
struct Team {
  static constexpr int kLanes = kD / 8, kTeams = 32 / kLanes;  // in a warp

  float q[kQueries][8], o[kQueries][8] = {};
  float largest[kQueries], sum[kQueries] = {};  // -FLT_MAX: no key yet, less than every score

  // The first `count` of the queries are `rows`, the others are zeros.
  __device__ void start(const T* rows, int count, float scale) {
#pragma unroll
    for (int g = 0; g < kQueries; ++g) {
      const auto* chunks = reinterpret_cast<const uint4*>(rows + g * kD);
      to_floats<T>(g < count ? chunks[threadIdx.x % kLanes] : uint4{}, q[g]);
#pragma unroll
      for (int i = 0; i < 8; ++i) q[g][i] *= scale * attention::kLog2E;
      largest[g] = -FLT_MAX;
    }
  }

  // One more key with its value, or none if not `seen`. By whole warps.
  __device__ void add(const uint4& key, const uint4& value, bool seen) {
    float k[8], v[8];
    to_floats<T>(key, k);
    to_floats<T>(value, v);
#pragma unroll
    for (int g = 0; g < kQueries; ++g) {
      float score = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) score += q[g][i] * k[i];
#pragma unroll
      for (int step = kLanes / 2; step > 0; step /= 2) {
        score += __shfl_xor_sync(0xffffffff, score, step);
      }
      if (!seen) continue;
      // Of n scores in random order about ln(n) are larger than all before: this is rare.
      if (score > largest[g]) {
        rescale(g, exp2f(largest[g] - score));
        largest[g] = score;
      }
      const float weight = exp2f(score - largest[g]);
      sum[g] += weight;
#pragma unroll
      for (int i = 0; i < 8; ++i) o[g][i] += weight * v[i];
    }
  }

  // The teams of a warp have seen different keys: afterwards all of them know all sums.
  __device__ void merge_teams() {
#pragma unroll
    for (int g = 0; g < kQueries; ++g) {
#pragma unroll
      for (int step = kLanes; step < 32; step *= 2) {
        const float both = fmaxf(largest[g], __shfl_xor_sync(0xffffffff, largest[g], step));
        rescale(g, exp2f(largest[g] - both));
        largest[g] = both;
        sum[g] += __shfl_xor_sync(0xffffffff, sum[g], step);
#pragma unroll
        for (int i = 0; i < 8; ++i) o[g][i] += __shfl_xor_sync(0xffffffff, o[g][i], step);
      }
    }
  }

  __device__ void rescale(int g, float factor) {
    sum[g] *= factor;
#pragma unroll
    for (int i = 0; i < 8; ++i) o[g][i] *= factor;
  }

  // The results: O = o * factor, and the log-sum-exp in base 2. Without keys 0 and -infinity.
  __device__ float factor(int g) const { return sum[g] > 0 ? 1 / sum[g] : 0; }
  __device__ float lse2(int g) const { return largest[g] + log2f(sum[g]); }
};

}  // namespace decode
