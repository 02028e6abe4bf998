// Rung 4, safe: the largest element is found first and subtracted from all.
//
// exp(x - largest) is at most 1: nothing overflows, whatever the inputs are; and what underflows to
// 0 is less than the last digit of the result. The price is a pass of its own: three reads and a
// write for each element. Where rows do not stay in a cache meanwhile, a third more bytes.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "07_flash_attention/softmax/rows.cuh"

template <int kWide>
__global__ void __launch_bounds__(kRowThreads)
    softmax_safe_kernel(const float* x, float* y, int columns) {
  x += std::int64_t{blockIdx.x} * columns;
  y += std::int64_t{blockIdx.x} * columns;

  float largest = -INFINITY;
  each_piece<kWide>(x, columns, [&](const Piece<kWide>& piece, int) {
    for (int i = 0; i < kWide; ++i) largest = fmaxf(largest, piece.x[i]);
  });
  largest = largest_over_block(largest);

  float sum = 0;
  each_piece<kWide>(x, columns, [&](const Piece<kWide>& piece, int) {
    for (int i = 0; i < kWide; ++i) sum += __expf(piece.x[i] - largest);
  });
  const float inverse = 1 / sum_over_block(sum);

  each_piece<kWide>(x, columns, [&](Piece<kWide> piece, int index) {
    for (int i = 0; i < kWide; ++i) piece.x[i] = __expf(piece.x[i] - largest) * inverse;
    reinterpret_cast<Piece<kWide>*>(y)[index] = piece;
  });
}

// y = softmax of each row of x. Device pointers, row-major.
inline void softmax_safe(const float* x, float* y, std::int64_t rows, std::int64_t columns,
                         cudaStream_t stream) {
  launch_on_rows(softmax_safe_kernel<4>, softmax_safe_kernel<1>, x, y, rows, columns, stream);
}
