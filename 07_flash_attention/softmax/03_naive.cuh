// naive: the formula as it is written. A block takes a row.
//
// One pass adds up exp(x), a second one divides by the sum: two reads and a write for each element.
// What is still wrong: exp(89) is more than a float can hold. A single element above 88.7 makes the
// sum infinite, and then everything is 0 or NaN. It is right for small inputs only, and is not run
// on others; the program shows what it would do to them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/softmax/kit/row_chunks.cuh"

namespace softmax {

template <int kWide>
__global__ void __launch_bounds__(kRowThreads)
    softmax_naive_kernel(const float* x, float* y, int columns) {
  x += std::int64_t{blockIdx.x} * columns;
  y += std::int64_t{blockIdx.x} * columns;

  float sum = 0;
  each_chunk<kWide>(x, columns, [&](const Chunk<kWide>& chunk, int) {
    for (int i = 0; i < kWide; ++i) sum += __expf(chunk.x[i]);
  });
  const float inverse = 1 / sum_over_block(sum);

  each_chunk<kWide>(x, columns, [&](Chunk<kWide> chunk, int index) {
    for (int i = 0; i < kWide; ++i) chunk.x[i] = __expf(chunk.x[i]) * inverse;
    reinterpret_cast<Chunk<kWide>*>(y)[index] = chunk;
  });
}

// y = softmax of each row of x, if no row's sum of exp(x) overflows. Device pointers, row-major.
inline void naive(const float* x, float* y, std::int64_t rows, std::int64_t columns,
                  cudaStream_t stream) {
  launch_on_rows(softmax_naive_kernel<4>, softmax_naive_kernel<1>, x, y, rows, columns, stream);
}

}  // namespace softmax
