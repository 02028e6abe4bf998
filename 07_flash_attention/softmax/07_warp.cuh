// warp: a short row belongs to a warp, which keeps it in registers.
//
// A block of 512 threads is too much for a row of 1000 floats: many threads have nothing to load,
// and all of them wait for each other twice. A warp needs no barrier: its lanes agree by shuffles.
// The row is in registers after the first pass, so the maximum, the sum and the quotients are taken
// from there, one after the other; nothing has to be rescaled. Rows of up to 1024 columns: a lane
// has no registers for more.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "07_flash_attention/softmax/kit/row_chunks.cuh"
#include "common/kit/check.cuh"

namespace softmax {

constexpr int kWarpColumns = 1024;  // of the longest row that a warp takes
constexpr int kWarpRows = 4;        // of a block, a warp each

template <int kWide, int kChunks>
__global__ void __launch_bounds__(kWarpRows * 32)
    softmax_warp_kernel(const float* x, float* y, std::int64_t rows, int columns) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kWarpRows + threadIdx.x / 32;
  if (row >= rows) return;
  const auto* from = reinterpret_cast<const Chunk<kWide>*>(x + row * columns);
  auto* to = reinterpret_cast<Chunk<kWide>*>(y + row * columns);
  const int lane = threadIdx.x % 32, count = columns / kWide;

  // region registers
  // The only read.
  Chunk<kWide> kept[kChunks];
  float row_max = -INFINITY, sum = 0;
#pragma unroll
  for (int p = 0; p < kChunks; ++p) {
    for (float& value : kept[p].x) value = -INFINITY;  // past the end: exp gives 0
    if (lane + 32 * p < count) kept[p] = from[lane + 32 * p];
  }

  // The maximum, then the sum: of a lane's own elements, then of all lanes.
#pragma unroll
  for (int p = 0; p < kChunks; ++p) {
    for (const float value : kept[p].x) row_max = fmaxf(row_max, value);
  }
  for (int step = 16; step > 0; step /= 2) {
    row_max = fmaxf(row_max, __shfl_xor_sync(0xffffffff, row_max, step));
  }
#pragma unroll
  for (int p = 0; p < kChunks; ++p) {
    for (float& value : kept[p].x) sum += value = __expf(value - row_max);
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);

  // The only write.
  const float inverse = 1 / sum;
#pragma unroll
  for (int p = 0; p < kChunks; ++p) {
    for (float& value : kept[p].x) value *= inverse;
    if (lane + 32 * p < count) to[lane + 32 * p] = kept[p];
  }
  // endregion
}

// y = softmax of each row of x. Device pointers, row-major. Throws Skip if a row does not fit into
// the registers of a warp.
inline void warp(const float* x, float* y, std::int64_t rows, std::int64_t columns,
                 cudaStream_t stream) {
  if (columns > kWarpColumns) {
    throw kit::Skip("needs rows that fit into a warp's registers, " + std::to_string(kWarpColumns) +
                    " columns");
  }
  const bool aligned = rows_are_aligned(x, y, columns);
  const auto kernel = columns <= kWarpColumns / 8
                          ? (aligned ? softmax_warp_kernel<4, 1> : softmax_warp_kernel<1, 4>)
                      : columns <= kWarpColumns / 2
                          ? (aligned ? softmax_warp_kernel<4, 4> : softmax_warp_kernel<1, 16>)
                          : (aligned ? softmax_warp_kernel<4, 8> : softmax_warp_kernel<1, 32>);
  const auto blocks = static_cast<unsigned>((rows + kWarpRows - 1) / kWarpRows);
  kernel<<<blocks, kWarpRows * 32, 0, stream>>>(x, y, rows, static_cast<int>(columns));
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace softmax
