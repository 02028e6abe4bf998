// What all pairs of a row have in common, computed once ahead of them: its log-sum-exp, and
// D = rowsum(dO O), the mean of the row's dP weighted by P.
//
// Rows of a head are padded to a multiple of kRowPadding, so that tiles of queries need not end
// early. A row past the end, or one that sees no key, has the log-sum-exp +infinity: its weights
// 2^(s - lse) are 0 whatever s is.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "07_flash_attention/backward/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/grid.cuh"

namespace backward {

constexpr int kRowPadding = 128, kRowThreads = 256, kRowTeam = 8;

// [heads][pitch] floats each. dq_accum: [heads][pitch][d], or null where nobody adds up dQ.
struct RowStats {
  float *lse2, *delta, *dq_accum;  // lse2: in base 2
  int pitch;
};

// What a kernel of a rung gets. O and the log-sum-exp are not needed any more, once these
// statistics are there. Arguments of up to 128 bytes nvcc 13.0 loads once, larger ones again
// wherever they are used.
template <class T>
struct Arguments {
  const T *q, *k, *v, *d_o;
  T *dq, *dk, *dv;
  Shape shape;
  RowStats rows;
};
static_assert(sizeof(Arguments<float>) <= 128, "nvcc loads such arguments once");

inline int padded_rows(const Shape& shape) {
  return kit::divide_up(shape.n_q, kRowPadding) * kRowPadding;
}
// Floats of scratch memory that prepare wants.
inline std::int64_t row_stats_scratch(const Shape& shape) {
  return 2 * shape.all_heads() * padded_rows(shape);
}
inline std::int64_t row_stats_and_dq_scratch(const Shape& shape) {
  return (2 + shape.d) * shape.all_heads() * padded_rows(shape);
}

// Neighbouring elements that are read or written at once.
template <class T, int kCount>
struct alignas(kCount * sizeof(T)) Piece {
  T x[kCount];
};

// kRowTeam lanes a padded row; a lane takes kWide neighbouring elements at a time.
template <int kWide, class T>
__device__ __forceinline__ void compute_row_stats(const Tensors<T>& t, const RowStats& rows,
                                                  std::int64_t count, int n_q, int d) {
  const std::int64_t at = (std::int64_t{blockIdx.x} * kRowThreads + threadIdx.x) / kRowTeam;
  const std::int64_t row = at / rows.pitch * n_q + at % rows.pitch;
  const int member = threadIdx.x % kRowTeam;
  const bool inside = at < count && at % rows.pitch < n_q;
  float sum = 0;
  for (int c = member * kWide; inside && c < d; c += kRowTeam * kWide) {
    const auto d_o = *reinterpret_cast<const Piece<T, kWide>*>(t.d_o + row * d + c);
    const auto o = *reinterpret_cast<const Piece<T, kWide>*>(t.o + row * d + c);
    for (int i = 0; i < kWide; ++i)
      sum += static_cast<float>(d_o.x[i]) * static_cast<float>(o.x[i]);
  }
  for (int step = kRowTeam / 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  if (at >= count || member != 0) return;
  const float lse = inside ? t.lse[row] : -INFINITY;
  rows.lse2[at] = lse == -INFINITY ? INFINITY : attention::kLog2E * lse;
  rows.delta[at] = sum;
}
template <int kWide, class T>
__global__ void __launch_bounds__(kRowThreads)
    row_stats_kernel(Tensors<T> t, RowStats rows, std::int64_t count, int n_q, int d) {
  compute_row_stats<kWide>(t, rows, count, n_q, d);
}

// Computes the statistics of rows, and zeros dq_accum where with_dq, and so many floats behind it.
template <class T>
Arguments<T> prepare(const Shape& shape, const Tensors<T>& t, float* scratch, bool with_dq,
                     cudaStream_t stream, std::int64_t behind_dq = 0) {
  const int pitch = padded_rows(shape);
  const std::int64_t count = shape.all_heads() * pitch;
  const RowStats rows{scratch, scratch + count, with_dq ? scratch + 2 * count : nullptr, pitch};
  constexpr int kWide = 16 / sizeof(T);
  const bool wide = kit::is_aligned_to_16(t.o) && kit::is_aligned_to_16(t.d_o);
  const auto kernel = wide ? row_stats_kernel<kWide, T> : row_stats_kernel<1, T>;
  const int blocks = kit::divide_up(count, kRowThreads / kRowTeam);
  kernel<<<blocks, kRowThreads, 0, stream>>>(t, rows, count, shape.n_q, shape.d);
  CUDA_CHECK(cudaGetLastError());
  if (with_dq) {
    const auto bytes = sizeof(float) * (count * shape.d + behind_dq);
    CUDA_CHECK(cudaMemsetAsync(rows.dq_accum, 0, bytes, stream));
  }
  return {t.q, t.k, t.v, t.d_o, t.dq, t.dk, t.dv, shape, rows};
}

// As row_stats_kernel, and zeros dq_accum; both of the first `count` rows. And zeros `behind`
// counters. The kernel after it may begin. O and dO aligned to 16 bytes.
template <class T, int kD>
__global__ void __launch_bounds__(kRowThreads)
    row_stats_and_zeros_kernel(Tensors<T> t, RowStats rows, std::int64_t count, int n_q,
                               int* counters, int behind) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  ptx::griddepcontrol_launch_dependents();
#endif
  const std::int64_t thread = std::int64_t{blockIdx.x} * kRowThreads + threadIdx.x;
  const std::int64_t at = thread / kRowTeam;
  if (at < count) {
    auto* const zeros = reinterpret_cast<float4*>(rows.dq_accum + at * kD) + thread % kRowTeam;
#pragma unroll
    for (int i = 0; i < kD / 4; i += kRowTeam) zeros[i] = make_float4(0, 0, 0, 0);
  }
  if (thread < behind) counters[thread] = 0;
  compute_row_stats<16 / sizeof(T)>(t, rows, count, n_q, kD);
}

// As prepare() with dQ, in one launch, behind which a kernel may be launched by
// kit::launch_programmatic. Of the first `heads` query heads alone; but all `behind_dq` counters
// behind dQ are zeroed.
template <class T, int kD>
Arguments<T> prepare_at_once(const Shape& shape, const Tensors<T>& t, float* scratch,
                             cudaStream_t stream, int behind_dq, std::int64_t heads) {
  const int pitch = padded_rows(shape);
  const std::int64_t all = shape.all_heads() * pitch, count = heads * pitch;
  const RowStats rows{scratch, scratch + all, scratch + 2 * all, pitch};
  const std::int64_t threads = std::max<std::int64_t>(count * kRowTeam, behind_dq);
  row_stats_and_zeros_kernel<T, kD>
      <<<kit::divide_up(threads, kRowThreads), kRowThreads, 0, stream>>>(
          t, rows, count, shape.n_q, reinterpret_cast<int*>(rows.dq_accum + all * kD), behind_dq);
  CUDA_CHECK(cudaGetLastError());
  return {t.q, t.k, t.v, t.d_o, t.dq, t.dk, t.dv, shape, rows};
}

}  // namespace backward
