// safe: the largest element is found first and subtracted from all.
//
// exp(x - row max) is at most 1: nothing overflows, whatever the inputs are; and what underflows to
// 0 is less than the last digit of the result. The price is a pass of its own: three reads and a
// write for each element. Where rows do not stay in a cache meanwhile, a third more bytes.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "07_flash_attention/softmax/kit/row_chunks.cuh"

namespace softmax {

template <int kWide>
__global__ void __launch_bounds__(kRowThreads)
    softmax_safe_kernel(const float* x, float* y, int columns) {
  x += std::int64_t{blockIdx.x} * columns;
  y += std::int64_t{blockIdx.x} * columns;

  // region passes
  float row_max = -INFINITY;
  each_chunk<kWide>(x, columns, [&](const Chunk<kWide>& chunk, int) {
    for (int i = 0; i < kWide; ++i) row_max = fmaxf(row_max, chunk.x[i]);
  });
  row_max = max_over_block(row_max);

  float sum = 0;
  each_chunk<kWide>(x, columns, [&](const Chunk<kWide>& chunk, int) {
    for (int i = 0; i < kWide; ++i) sum += __expf(chunk.x[i] - row_max);
  });
  const float inverse = 1 / sum_over_block(sum);

  each_chunk<kWide>(x, columns, [&](Chunk<kWide> chunk, int index) {
    for (int i = 0; i < kWide; ++i) chunk.x[i] = __expf(chunk.x[i] - row_max) * inverse;
    reinterpret_cast<Chunk<kWide>*>(y)[index] = chunk;
  });
  // endregion
}

// y = softmax of each row of x. Device pointers, row-major.
inline void safe(const float* x, float* y, std::int64_t rows, std::int64_t columns,
                 cudaStream_t stream) {
  launch_on_rows(softmax_safe_kernel<4>, softmax_safe_kernel<1>, x, y, rows, columns, stream);
}

}  // namespace softmax
