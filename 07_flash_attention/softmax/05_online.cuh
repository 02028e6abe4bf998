// online: the maximum and the sum in the same pass (Milakov and Gimelshein, 2018).
//
// The sum is kept relative to the largest element so far. When a larger one turns up, what has been
// summed is multiplied by the correction factor exp(old - new); and two threads' sums are joined in
// the same way. Two reads and a write for each element, as in the naive rung, and no sum of finite
// elements overflows. This is the step that makes flash attention possible. What is still wrong:
// the row is read twice at all, and a thread that begins with -infinity gets a NaN.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/softmax/kit/online_sum.cuh"
#include "07_flash_attention/softmax/kit/row_chunks.cuh"

namespace softmax {

template <int kWide>
__global__ void __launch_bounds__(kRowThreads)
    softmax_online_kernel(const float* x, float* y, int columns) {
  x += std::int64_t{blockIdx.x} * columns;
  y += std::int64_t{blockIdx.x} * columns;

  // region passes
  OnlineSum all = OnlineSum::of_nothing();
  each_chunk<kWide>(x, columns, [&](const Chunk<kWide>& chunk, int) { all.add(chunk); });
  all = over_block(all, OnlineSum::join);
  const float inverse = 1 / all.sum;

  each_chunk<kWide>(x, columns, [&](Chunk<kWide> chunk, int index) {
    for (int i = 0; i < kWide; ++i) chunk.x[i] = __expf(chunk.x[i] - all.max) * inverse;
    reinterpret_cast<Chunk<kWide>*>(y)[index] = chunk;
  });
  // endregion
}

// y = softmax of each row of x. Device pointers, row-major.
inline void online(const float* x, float* y, std::int64_t rows, std::int64_t columns,
                   cudaStream_t stream) {
  launch_on_rows(softmax_online_kernel<4>, softmax_online_kernel<1>, x, y, rows, columns, stream);
}

}  // namespace softmax
