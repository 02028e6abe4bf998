// The two products of a tile of keys by mma.sync, for one warp. The fragments of a step are fetched
// while the step before is multiplied, into a second set of registers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/mma.cuh"

namespace attention {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// s += Q K^T, 16 columns of Q and K and 16 keys at a step: in step i the columns from
// 16 (i / kRun) and the keys from 16 (i % kRun) on. fetch_q(q, c, g) fetches the columns from 16 c
// on of group g of queries, and fetch_k(k, c, j) those of the keys from 16 j on.
template <class T, int kD, int kGroups, int kScores, class FetchQ, class FetchK>
__device__ __forceinline__ void multiply_scores(float (&s)[kGroups][kScores], FetchQ fetch_q,
                                                FetchK fetch_k) {
  constexpr int kRun = kScores / 8, kSteps = kD / 16 * kRun;
  std::uint32_t q[2][kGroups][4], k[2][4];
  const auto fetch = [&](int i) {
    const int c = i / kRun, j = i % kRun;
#pragma unroll
    for (int g = 0; g < kGroups && j == 0; ++g) fetch_q(q[c % 2][g], c, g);
    fetch_k(k[i % 2], c, j);
  };
  fetch(0);
#pragma unroll
  for (int c = 0; c < kD / 16; ++c) {
#pragma unroll
    for (int j = 0; j < kRun; ++j) {
      const int i = c * kRun + j;
      if (i + 1 < kSteps) fetch(i + 1);
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        ptx::mma_m16n8k16<T>(ptx::four(&s[g][8 * j]), q[c % 2][g], k[i % 2][0], k[i % 2][1]);
        ptx::mma_m16n8k16<T>(ptx::four(&s[g][8 * j + 4]), q[c % 2][g], k[i % 2][2], k[i % 2][3]);
      }
    }
  }
}

// o += P V: in step i the keys from 16 (i / kRun) and the columns from 16 (i % kRun) on.
// fetch_v(v, j, c) fetches the columns from 16 c on of the keys from 16 j on.
template <class T, int kGroups, int kOutputs, int kKeys, class FetchV>
__device__ __forceinline__ void multiply_output(float (&o)[kGroups][kOutputs],
                                                const std::uint32_t (&p)[kGroups][kKeys][4],
                                                FetchV fetch_v) {
  constexpr int kRun = kOutputs / 8;
  std::uint32_t v[2][4];
  fetch_v(v[0], 0, 0);
#pragma unroll
  for (int j = 0; j < kKeys; ++j) {
#pragma unroll
    for (int c = 0; c < kRun; ++c) {
      const int i = j * kRun + c;
      if (i + 1 < kKeys * kRun) fetch_v(v[(i + 1) % 2], (i + 1) / kRun, (i + 1) % kRun);
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        ptx::mma_m16n8k16<T>(ptx::four(&o[g][8 * c]), p[g][j], v[i % 2][0], v[i % 2][1]);
        ptx::mma_m16n8k16<T>(ptx::four(&o[g][8 * c + 4]), p[g][j], v[i % 2][2], v[i % 2][3]);
      }
    }
  }
}
#endif

}  // namespace attention
