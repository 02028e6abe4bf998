// What the tensor-core rungs share: the online softmax of a tile of scores, as tensor cores leave
// it in registers.
//
// Both mma.sync and wgmma spread 16 rows of scores over a warp in the same way: lane l holds, of
// rows l / 4 and l / 4 + 8, columns 8 j + 2 (l % 4) and the next one. In an array s of N registers,
// s[i] is in row l / 4 + 8 ((i / 2) % 2), column 8 (i / 4) + 2 (l % 4) + i % 2. So a row lies in
// four neighbouring lanes, and each lane has two rows: "row 0" and "row 1" below.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "07_flash_attention/attention/launch.cuh"
#include "common/ptx_mma.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
__host__ __device__ constexpr int row_of_register(int i) { return i / 2 % 2; }

// The state of a lane's two rows. Everything is in powers of two: exp(x) = 2^(x log2(e)), and a
// power of two is one instruction. log2(e) joins the 1 / sqrt(d) that scores are multiplied by
// anyway, so it costs nothing.
struct SoftmaxRows {
  float scale;       // log2(e) / sqrt(d)
  float largest[2];  // score that shift is based on, not scaled; -infinity before the first key
  float shift[2];    // scale * largest, or 0 for -infinity: a weight is 2^(scale s - shift)
  float sum[2];      // of this lane's own weights: the four lanes add up once, at the end
  float factor[2];   // see raise_largest
};

// A new row: nothing seen yet.
__device__ inline void start_rows(SoftmaxRows& rows, float scale) {
  rows.scale = scale;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    rows.largest[r] = -INFINITY;
    rows.shift[r] = rows.sum[r] = rows.factor[r] = 0;
  }
}

// Scores of keys that a row does not see become -infinity, whose weight is 0. visible[r]: how many
// of the tile's first columns row r sees, any integer.
template <int N>
__device__ inline void mask_scores(float (&s)[N], const int (&visible)[2]) {
  const int first = 2 * (threadIdx.x % 4);
  const int limit[2] = {visible[0] - first, visible[1] - first};
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (8 * (i / 4) + i % 2 >= limit[row_of_register(i)]) s[i] = -INFINITY;
  }
}

// The largest score of each row of the tile, in all four lanes that share the row.
template <int N>
__device__ inline void largest_scores(const float (&s)[N], float (&largest)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float even = s[2 * r], odd = s[2 * r + 1];  // two chains: twice as fast as one
#pragma unroll
    for (int i = 4; i < N; i += 4) {
      even = fmaxf(even, s[i + 2 * r]);
      odd = fmaxf(odd, s[i + 2 * r + 1]);
    }
    const float own = fmaxf(even, odd);
    const float two = fmaxf(own, __shfl_xor_sync(0xffffffffu, own, 1));
    largest[r] = fmaxf(two, __shfl_xor_sync(0xffffffffu, two, 2));
  }
}

// Takes the largest scores of a tile into account. Any number can serve as shift, as long as
// weights neither overflow nor vanish; so as long as no row of the warp grows past its shift by
// more than 2^8, nothing is done. (FlashAttention-4 does so; with random scores, all but the first
// few tiles pass.) Else true: what was accumulated must be multiplied by `factor`, the sums have
// been.
__device__ inline bool raise_largest(SoftmaxRows& rows, const float (&of_tile)[2]) {
  constexpr float kTolerated = 8;
  bool grown = false;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    // Infinite where a row sees its first keys; NaN, so not grown, where it has seen none yet.
    grown = grown || (of_tile[r] - rows.largest[r]) * rows.scale > kTolerated;
  }
  if (!__any_sync(0xffffffffu, grown)) return false;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float largest = fmaxf(rows.largest[r], of_tile[r]);
    const float shift = largest == -INFINITY ? 0 : largest * rows.scale;
    rows.factor[r] = rows.largest[r] == -INFINITY ? 0 : ptx::ex2(rows.shift[r] - shift);
    rows.largest[r] = largest;
    rows.shift[r] = shift;
    rows.sum[r] *= rows.factor[r];
  }
  return true;
}

// Turns the tile's scores into weights and adds them up.
template <int N>
__device__ inline void weigh_scores(float (&s)[N], SoftmaxRows& rows) {
  float odd_sum[2] = {0, 0};  // a second chain of additions
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const int r = row_of_register(i);
    // Multiplied and subtracted with one rounding: scores of 10^4 keep their difference.
    s[i] = ptx::ex2(fmaf(s[i], rows.scale, -rows.shift[r]));
    (i % 2 == 0 ? rows.sum[r] : odd_sum[r]) += s[i];
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) rows.sum[r] += odd_sum[r];
}

// The same weights rounded to T, as the operand A of the product with V, 16 keys at a time: the
// layout of an accumulator and that of A match, so no lane needs anything of another.
template <class T, int N>
__device__ inline void pack_weights(const float (&s)[N], std::uint32_t (&p)[N / 8][4]) {
#pragma unroll
  for (int i = 0; i < N; i += 2) p[i / 8][i / 2 % 4] = ptx::pack<T>(s[i], s[i + 1]);
}

// o *= factor, row by row.
template <int N>
__device__ inline void scale_rows(float (&o)[N], const float (&factor)[2]) {
#pragma unroll
  for (int i = 0; i < N; ++i) o[i] *= factor[row_of_register(i)];
}

// The end: what to multiply each row of O by, and its log-sum-exp. A row that saw no key: 0 and
// -infinity.
__device__ inline void finish_rows(SoftmaxRows& rows, float (&factor)[2], float (&lse)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = rows.sum[r];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    factor[r] = sum > 0 ? 1 / sum : 0;
    lse[r] = sum > 0 ? (rows.shift[r] + log2f(sum)) * kLn2 : -INFINITY;
  }
}
#endif
