// What becomes of a tile of scores, and of O, as tensor cores leave them in registers: a mask, the
// online softmax, and the way of O to global memory.
//
// Both mma.sync and wgmma spread 16 rows of an accumulator over a warp in the same way: lane l
// holds, of rows l / 4 and l / 4 + 8, columns 8 j + 2 (l % 4) and the next one. In an array s of N
// registers, s[i] is in row l / 4 + 8 ((i / 2) % 2), column 8 (i / 4) + 2 (l % 4) + i % 2. So a row
// lies in four neighbouring lanes, and each lane has two rows: "row 0" and "row 1" below.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "07_flash_attention/shape.hpp"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"

namespace attention {

// Which keys of a head a query sees, in tiles of kTileN keys. Only the last tiles hold keys that a
// query of a block does not see: the tail of K, and the diagonal of a causal mask. The rungs go
// through the tiles backwards, so these come first, and the loop over all others has no mask.
template <bool kCausal, int kTileN>
struct Mask {
  int n_q, n_k;

  // region tiles
  // How many tiles, from the first on, any of `count` queries from `first_row` on sees.
  __device__ int tiles(int first_row, int count) const {
    const int last_row = min(first_row + count, n_q) - 1;
    return kit::divide_up(visible_keys<kCausal>(last_row, n_q, n_k), kTileN);
  }

  // How many tiles, from the first on, query `first_row` and all queries after it see wholly.
  __device__ int unmasked_tiles(int first_row) const {
    return visible_keys<kCausal>(first_row, n_q, n_k) / kTileN;
  }
  // endregion

  // Whether query `row`, and so all before it, sees nothing of a tile.
  __device__ bool hides(int tile, int row) const {
    return visible_keys<kCausal>(row, n_q, n_k) <= tile * kTileN;
  }

  // Scores of keys that their query does not see become -infinity, whose weight is 0. s: a lane's
  // scores of rows `row` and `row` + 8.
  template <int N>
  __device__ void apply(float (&s)[N], int row, int tile) const {
    const int visible[2] = {visible_keys<kCausal>(row, n_q, n_k) - tile * kTileN,
                            visible_keys<kCausal>(row + 8, n_q, n_k) - tile * kTileN};
    const int first = 2 * (threadIdx.x % 4);
    const int limit[2] = {visible[0] - first, visible[1] - first};
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (8 * (i / 4) + i % 2 >= limit[i / 2 % 2]) s[i] = -INFINITY;
    }
  }
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// The state of a lane's two rows. Everything is in powers of two: exp(x) = 2^(x log2(e)), and a
// power of two is one instruction. log2(e) joins the 1 / sqrt(d) that scores are multiplied by
// anyway, so it costs nothing.
struct OnlineSoftmax {
  float scale;  // log2(e) / sqrt(d)
  // Score that shift is based on, not scaled; -infinity before the first key.
  float row_max[2] = {-INFINITY, -INFINITY};
  float shift[2] = {};       // scale * row_max, or 0 for -infinity: a weight is 2^(scale s - shift)
  float sum[2] = {};         // of this lane's own weights: the four lanes add up once, at the end
  float correction[2] = {};  // what was accumulated must be multiplied by this

  static __device__ constexpr int row_of(int i) { return i / 2 % 2; }

  // The maximum of each row of a tile, in all four lanes that share the row.
  template <int N>
  static __device__ void max_of_rows(const float (&s)[N], float (&tile_max)[2]) {
    for (int r = 0; r < 2; ++r) {
      float even = s[2 * r], odd = s[2 * r + 1];  // two chains: twice as fast as one
#pragma unroll
      for (int i = 4; i < N; i += 4) {
        even = fmaxf(even, s[i + 2 * r]);
        odd = fmaxf(odd, s[i + 2 * r + 1]);
      }
      const float own = fmaxf(even, odd);
      const float two = fmaxf(own, __shfl_xor_sync(0xffffffffu, own, 1));
      tile_max[r] = fmaxf(two, __shfl_xor_sync(0xffffffffu, two, 2));
    }
  }

  // region update_max
  // Takes the maxima of a tile into account. The sums are corrected, O is not: rescale(o,
  // correction) does that.
  __device__ void update_max(const float (&tile_max)[2]) {
    for (int r = 0; r < 2; ++r) {
      const float new_max = fmaxf(row_max[r], tile_max[r]);
      const float new_shift = new_max == -INFINITY ? 0 : new_max * scale;
      correction[r] = row_max[r] == -INFINITY ? 0 : ptx::ex2(shift[r] - new_shift);
      row_max[r] = new_max;
      shift[r] = new_shift;
      sum[r] *= correction[r];
    }
  }
  // endregion

  // o *= factor, row by row.
  template <int N>
  static __device__ void rescale(float (&o)[N], const float (&factor)[2]) {
#pragma unroll
    for (int i = 0; i < N; ++i) o[i] *= factor[row_of(i)];
  }

  // region weights
  // Makes weights of the tile's scores and adds them up.
  template <int N>
  __device__ void exponentiate(float (&s)[N]) {
    float odd_sum[2] = {0, 0};  // a second chain of additions
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const int r = row_of(i);
      // Multiplied and subtracted with one rounding: scores of 10^4 keep their difference.
      s[i] = ptx::ex2(fmaf(s[i], scale, -shift[r]));
      (i % 2 == 0 ? sum[r] : odd_sum[r]) += s[i];
    }
    for (int r = 0; r < 2; ++r) sum[r] += odd_sum[r];
  }

  // The weights rounded to T, as the operand A of the product with V, 16 keys at a time: the layout
  // of an accumulator and that of A match, so no lane needs anything of another.
  template <class T, int N>
  static __device__ void pack(const float (&s)[N], std::uint32_t (&p)[N / 8][4]) {
#pragma unroll
    for (int i = 0; i < N; i += 2) p[i / 8][i / 2 % 4] = ptx::pack<T>(s[i], s[i + 1]);
  }
  // endregion

  // The end: what to multiply each row of O by, and its log-sum-exp. A row that saw no key: 0 and
  // -infinity.
  __device__ void finish(float (&factor)[2], float (&lse)[2]) {
    for (int r = 0; r < 2; ++r) {
      float total = sum[r];
      total += __shfl_xor_sync(0xffffffffu, total, 1);
      total += __shfl_xor_sync(0xffffffffu, total, 2);
      factor[r] = total > 0 ? 1 / total : 0;
      lse[r] = total > 0 ? (shift[r] + log2f(total)) * kLn2 : -INFINITY;
    }
  }
};

// region update_max_if_grown
// update_max, if it must be. Any number can serve as shift, as long as weights neither overflow nor
// vanish. So as long as no row of the warp grows past its shift by more than 8, which makes
// weights of 2^8, nothing is done. (FlashAttention-4 does so; with random scores a row rescales
// hardly ever after its first tile.) Returns whether O must be rescaled.
__device__ inline bool update_max_if_grown(OnlineSoftmax& rows, const float (&tile_max)[2]) {
  constexpr float kTolerated = 8;
  bool grown = false;
  for (int r = 0; r < 2; ++r) {
    // Infinite where a row sees its first keys; NaN, so not grown, where it has seen none yet.
    grown = grown || (tile_max[r] - rows.row_max[r]) * rows.scale > kTolerated;
  }
  if (!__any_sync(0xffffffffu, grown)) return false;
  rows.update_max(tile_max);
  return true;
}
// endregion

// Writes the log-sum-exp of rows `row` and `row` + 8 of a head. By whole warps: the lanes part at
// the ends of a head, and meet again at the end, since ldmatrix, wgmma and bar.sync, which may
// follow, are for converged warps only.
template <class T>
__device__ __forceinline__ void store_lse(const Tensors<T>& t, int head, int row, int n_q,
                                          const float (&lse)[2]) {
  for (int r = 0; r < 2; ++r) {
    if (threadIdx.x % 4 != 0 || row + 8 * r >= n_q) continue;
    t.lse[static_cast<std::int64_t>(head) * n_q + row + 8 * r] = lse[r];
  }
  __syncwarp();
}
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// Writes a thread's share of O and the log-sum-exp: rows `row` and `row` + 8 of a head. Four lanes
// write 16 bytes of a row together. By whole warps, as store_lse.
template <int kD, class T>
__device__ __forceinline__ void store_rows(const Tensors<T>& t, int head, int row, int n_q,
                                           const float (&o)[kD / 2], const float (&lse)[2]) {
  store_lse(t, head, row, n_q, lse);
  for (int r = 0; r < 2; ++r) {
    if (row + 8 * r >= n_q) continue;
    const std::int64_t at = static_cast<std::int64_t>(head) * n_q + row + 8 * r;
    auto* pairs = reinterpret_cast<std::uint32_t*>(t.o + at * kD) + threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < kD / 2; i += 4) {
      pairs[i] = ptx::pack<T>(o[i + 2 * r], o[i + 2 * r + 1]);
    }
  }
  __syncwarp();
}
#endif

}  // namespace attention
