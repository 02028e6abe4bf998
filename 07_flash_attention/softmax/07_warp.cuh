// Rung 7, warp: a short row belongs to a warp, which keeps it in registers.
//
// A block of 512 threads is too much for a row of 1000 floats: many threads have nothing to load,
// and all of them wait for each other twice. A warp needs no barrier: its lanes agree by shuffles.
// The row is in registers after the first pass, so the largest element, the sum and the quotients
// are taken from there, one after the other; nothing has to be rescaled. Up to 1024 columns; longer
// rows are left to the rung before.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "07_flash_attention/softmax/06_cached.cuh"
#include "07_flash_attention/softmax/rows.cuh"
#include "common/cuda_check.cuh"

constexpr int kWarpColumns = 1024;  // of the longest row that a warp takes
constexpr int kWarpRows = 4;        // of a block, a warp each

template <int kWide, int kPieces>
__global__ void __launch_bounds__(kWarpRows * 32)
    softmax_warp_kernel(const float* x, float* y, std::int64_t rows, int columns) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kWarpRows + threadIdx.x / 32;
  if (row >= rows) return;
  const auto* from = reinterpret_cast<const Piece<kWide>*>(x + row * columns);
  auto* to = reinterpret_cast<Piece<kWide>*>(y + row * columns);
  const int lane = threadIdx.x % 32, count = columns / kWide;

  Piece<kWide> kept[kPieces];
  float largest = -INFINITY, sum = 0;
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    for (float& value : kept[p].x) value = -INFINITY;  // past the end: exp gives 0
    if (lane + 32 * p < count) kept[p] = from[lane + 32 * p];
  }
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    for (const float value : kept[p].x) largest = fmaxf(largest, value);
  }
  for (int step = 16; step > 0; step /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, step));
  }
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    for (float& value : kept[p].x) sum += value = __expf(value - largest);
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  const float inverse = 1 / sum;
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    for (float& value : kept[p].x) value *= inverse;
    if (lane + 32 * p < count) to[lane + 32 * p] = kept[p];
  }
}

// y = softmax of each row of x. Device pointers, row-major.
inline void softmax_warp(const float* x, float* y, std::int64_t rows, std::int64_t columns,
                         cudaStream_t stream) {
  if (columns > kWarpColumns) {
    softmax_cached(x, y, rows, columns, stream);
    return;
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
