// Sixteen queries of a warp against sixteen keys at a time, by tensor cores (mma.sync m16n8k16).
//
// The queries are operand A of S = Q K^T and stay in registers; rows past the last query are zeros.
// S comes out as operand A of O += P V wants it, so scores never leave the registers either. As in
// every accumulator of mma.sync a lane has two rows, l / 4 and l / 4 + 8, and four neighbouring
// lanes share them.
#pragma once

#include <cuda_runtime.h>

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "07_flash_attention/decode/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace decode {

constexpr int kTensorRows = 16;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <class T, int kD>
struct TensorRows {
  static constexpr int kChunks = kD / 8;  // of 16 bytes, in a row

  std::uint32_t q[kD / 16][4];
  float o[kD / 2] = {}, largest[2] = {-FLT_MAX, -FLT_MAX}, sum[2] = {};
  float scale;  // log2(e) / sqrt(d)

  // The first `count` rows are queries.
  __device__ void start(const T* rows, int count, float scale_of_scores) {
    scale = attention::kLog2E * scale_of_scores;
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kD / 4; ++i) {
      const int row = lane / 4 + 8 * (i % 2), pair = i / 4 * 8 + i / 2 % 2 * 4 + lane % 4;
      const auto* pairs = reinterpret_cast<const std::uint32_t*>(rows + row * kD);
      q[i / 4][i % 4] = row < count ? pairs[pair] : 0;
    }
  }

  // region add
  // Keys and values of a tile, swizzled, in shared memory; only the first `seen` count.
  __device__ void add(const uint4* k, const uint4* v, int seen) {
    const int lane = threadIdx.x % 32;
    float s[8] = {};
#pragma unroll
    for (int c = 0; c < kD / 16; ++c) {
      std::uint32_t b[4];
      const int key = lane / 16 * 8 + lane % 8, chunk = 2 * c + lane / 8 % 2;
      ptx::ldmatrix_x4(b, &k[kit::swizzled_chunk<kChunks>(key, chunk)]);
      ptx::mma_m16n8k16<T>(ptx::four(&s[0]), q[c], b[0], b[1]);
      ptx::mma_m16n8k16<T>(ptx::four(&s[4]), q[c], b[2], b[3]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (8 * (i / 4) + 2 * (lane % 4) + i % 2 >= seen) s[i] = -INFINITY;
    }
    update_largest(s);

    // Rounded, the weights are operand A as they lie.
    std::uint32_t p[4];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      s[i] = ptx::ex2(fmaf(s[i], scale, -largest[i / 2 % 2] * scale));
      sum[i / 2 % 2] += s[i];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) p[i] = ptx::pack<T>(s[2 * i], s[2 * i + 1]);
#pragma unroll
    for (int c = 0; c < kD / 16; ++c) {
      std::uint32_t b[4];
      ptx::ldmatrix_x4_trans(b, &v[kit::swizzled_chunk<kChunks>(lane % 16, 2 * c + lane / 16)]);
      ptx::mma_m16n8k16<T>(ptx::four(&o[8 * c]), p, b[0], b[1]);
      ptx::mma_m16n8k16<T>(ptx::four(&o[8 * c + 4]), p, b[2], b[3]);
    }
  }
  // endregion

  // Takes the tile's scores into account. Only a new largest one changes what was summed so far.
  __device__ void update_largest(const float (&s)[8]) {
    float both[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      both[r] = fmaxf(fmaxf(s[2 * r], s[2 * r + 1]), fmaxf(s[2 * r + 4], s[2 * r + 5]));
      both[r] = fmaxf(both[r], __shfl_xor_sync(0xffffffff, both[r], 1));
      both[r] = fmaxf(both[r], __shfl_xor_sync(0xffffffff, both[r], 2));
      both[r] = fmaxf(both[r], largest[r]);
    }
    const bool grown = both[0] > largest[0] || both[1] > largest[1];
    if (!__any_sync(0xffffffff, grown)) return;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float factor = ptx::ex2((largest[r] - both[r]) * scale);
      largest[r] = both[r];
      sum[r] *= factor;
#pragma unroll
      for (int i = 0; i < kD / 4; ++i) o[4 * (i / 2) + 2 * r + i % 2] *= factor;
    }
  }

  // The warp's part of rows 8 r to 8 r + 7: O divided by its sum, and the log-sum-exp in base 2. r:
  // a constant, 0 or 1.
  template <int kPitch>
  __device__ __forceinline__ void store_half(int r, float (*to)[kPitch], float* lse2) {
    const int lane = threadIdx.x % 32, row = lane / 4;
    sum[r] += __shfl_xor_sync(0xffffffff, sum[r], 1);
    sum[r] += __shfl_xor_sync(0xffffffff, sum[r], 2);
    const float factor = sum[r] > 0 ? 1 / sum[r] : 0;
    if (lane % 4 == 0) lse2[row] = largest[r] * scale + log2f(sum[r]);
#pragma unroll
    for (int i = 0; i < kD / 8; ++i) {
      const float2 pair{factor * o[4 * i + 2 * r], factor * o[4 * i + 2 * r + 1]};
      reinterpret_cast<float2*>(to[row])[4 * i + lane % 4] = pair;
    }
  }

  // That of the first `count` rows, or of more.
  template <int kPitch>
  __device__ void store_part(int count, float (*to)[kPitch], float* lse2) {
    store_half(0, to, lse2);
    if (count > 8) store_half(1, to + 8, lse2 + 8);
  }
};
#endif

}  // namespace decode
