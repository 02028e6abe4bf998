// Rung 5, online: the largest element and the sum in the same pass (Milakov and Gimelshein, 2018).
//
// The sum is kept relative to the largest element so far. When a larger one turns up, what has been
// summed shrinks by exp(old - new); and two threads' sums are joined in the same way. Two reads and
// a write for each element, as in the naive rung, and as safe as the one before. This is the step
// that makes flash attention possible. What is still wrong: the row is read twice at all.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "07_flash_attention/softmax/rows.cuh"

// The largest of some elements, and the sum of exp(x - largest) over them. No element: -inf, 0.
struct OnlineSum {
  float largest, sum;
  static __device__ OnlineSum of_nothing() { return {-INFINITY, 0}; }

  template <int kWide>
  __device__ void add(const Piece<kWide>& piece) {
    float now = piece.x[0];
    for (int i = 1; i < kWide; ++i) now = fmaxf(now, piece.x[i]);
    if (now > largest) {  // rare once some elements have been seen
      sum *= __expf(largest - now);
      largest = now;
    }
    for (int i = 0; i < kWide; ++i) sum += __expf(piece.x[i] - largest);
  }

  __device__ OnlineSum from_lane(int step) const {
    OnlineSum other;
    other.largest = __shfl_xor_sync(0xffffffff, largest, step);
    other.sum = __shfl_xor_sync(0xffffffff, sum, step);
    return other;
  }

  // Of both sets of elements together. The one with the smaller largest shrinks.
  static __device__ OnlineSum join(OnlineSum a, OnlineSum b) {
    const bool a_leads = a.largest >= b.largest;
    const OnlineSum high = a_leads ? a : b, low = a_leads ? b : a;
    OnlineSum both = high;
    if (low.sum > 0) both.sum += low.sum * __expf(low.largest - high.largest);
    return both;
  }
};

template <int kWide>
__global__ void __launch_bounds__(kRowThreads)
    softmax_online_kernel(const float* x, float* y, int columns) {
  x += std::int64_t{blockIdx.x} * columns;
  y += std::int64_t{blockIdx.x} * columns;

  OnlineSum all = OnlineSum::of_nothing();
  each_piece<kWide>(x, columns, [&](const Piece<kWide>& piece, int) { all.add(piece); });
  all = over_block(all, OnlineSum::join);
  const float inverse = 1 / all.sum;

  each_piece<kWide>(x, columns, [&](Piece<kWide> piece, int index) {
    for (int i = 0; i < kWide; ++i) piece.x[i] = __expf(piece.x[i] - all.largest) * inverse;
    reinterpret_cast<Piece<kWide>*>(y)[index] = piece;
  });
}

// y = softmax of each row of x. Device pointers, row-major.
inline void softmax_online(const float* x, float* y, std::int64_t rows, std::int64_t columns,
                           cudaStream_t stream) {
  launch_on_rows(softmax_online_kernel<4>, softmax_online_kernel<1>, x, y, rows, columns, stream);
}
