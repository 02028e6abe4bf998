// The kernel of rungs 6 and 7, which differ in how they count a piece.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/histogram/kit/bins.hpp"
#include "06_atomics_streams/histogram/kit/lane_columns.cuh"
#include "06_atomics_streams/histogram/kit/pieces.cuh"
#include "common/kit/check.cuh"

namespace histogram {

// Count::take(piece, column) counts the 16 bytes of a piece.
template <class Count>
__global__ void __launch_bounds__(kColumnBlock)
    histogram_lane_columns_kernel(const unsigned char* x, std::int64_t n, unsigned* counts) {
  __shared__ alignas(16) unsigned columns[32 * kBins];
  __shared__ unsigned sums[kBins];
  static_assert(kColumnBlock >= kBins, "one thread per bin hands in");
  clear_columns(columns);
  __syncthreads();

  unsigned* const column = columns + threadIdx.x % 32;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kColumnBlock;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kColumnBlock + threadIdx.x;
  const Pieces pieces = split_in_pieces(x, n);
  std::int64_t i = first;
  for (; i + (kInFlight - 1) * stride < pieces.count; i += kInFlight * stride) {
    uint4 piece[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) piece[k] = pieces.first[i + k * stride];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) Count::take(piece[k], column);
  }
  for (; i < pieces.count; i += stride) Count::take(pieces.first[i], column);
  each_single_byte(x, n, pieces, first,
                   [column](unsigned byte) { atomicAdd(&column[32 * byte], 1u); });

  __syncthreads();
  hand_in_columns(columns, sums, counts);
}

template <class Count>
void launch_lane_columns(const unsigned char* x, std::int64_t n, unsigned* counts,
                         cudaStream_t stream) {
  CUDA_CHECK(cudaMemsetAsync(counts, 0, kBins * sizeof *counts, stream));
  histogram_lane_columns_kernel<Count><<<column_grid(n), kColumnBlock, 0, stream>>>(x, n, counts);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace histogram
