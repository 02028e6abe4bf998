// cached: a row that fits stays in shared memory, and is read once.
//
// While the first pass goes through the row it also puts it into shared memory; the second pass
// takes it from there. One read and one write for each element: nothing is left to save. A thread
// meets the chunks again that it put there itself, so no barrier is needed for them. An SM of the
// H200 has room for rows of 57,856 floats. What is still wrong: a block is too much for a short
// row.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "07_flash_attention/softmax/kit/online_sum.cuh"
#include "07_flash_attention/softmax/kit/row_chunks.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace softmax {

template <int kWide>
__global__ void __launch_bounds__(kRowThreads)
    softmax_cached_kernel(const float* x, float* y, int columns) {
  extern __shared__ float4 shared[];
  auto* const kept = reinterpret_cast<Chunk<kWide>*>(shared);
  x += std::int64_t{blockIdx.x} * columns;
  y += std::int64_t{blockIdx.x} * columns;

  OnlineSum all = OnlineSum::of_nothing();
  each_chunk<kWide>(x, columns, [&](const Chunk<kWide>& chunk, int index) {
    all.add(chunk);
    kept[index] = chunk;
  });
  all = over_block(all, OnlineSum::join);
  const float inverse = 1 / all.sum;

  for (int index = threadIdx.x; index < columns / kWide; index += kRowThreads) {
    Chunk<kWide> chunk = kept[index];
    for (int i = 0; i < kWide; ++i) chunk.x[i] = __expf(chunk.x[i] - all.max) * inverse;
    reinterpret_cast<Chunk<kWide>*>(y)[index] = chunk;
  }
}

// Columns of the longest row that fits: what a block may ask for, less what it has anyway.
inline std::int64_t longest_cached_row() {
  return (kit::most_shared() - 1024) / static_cast<std::int64_t>(sizeof(float));
}

// y = softmax of each row of x. Device pointers, row-major. Throws Skip if a row does not fit into
// shared memory.
inline void cached(const float* x, float* y, std::int64_t rows, std::int64_t columns,
                   cudaStream_t stream) {
  const std::int64_t most = longest_cached_row();
  if (columns > most) {
    throw kit::Skip("needs rows that fit into shared memory, here " + std::to_string(most) +
                    " columns");
  }
  const auto kernel =
      rows_are_aligned(x, y, columns) ? softmax_cached_kernel<4> : softmax_cached_kernel<1>;
  const int bytes = static_cast<int>((columns + 3) / 4 * sizeof(float4));
  kit::allow_shared(kernel, static_cast<int>(most * sizeof(float)));
  kernel<<<static_cast<unsigned>(rows), kRowThreads, bytes, stream>>>(x, y,
                                                                      static_cast<int>(columns));
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace softmax
