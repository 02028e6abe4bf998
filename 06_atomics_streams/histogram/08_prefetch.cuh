// prefetch: ask for the next pieces before counting these.
//
// `runs` asks for four pieces, waits, counts four pieces, asks again: its requests come in bursts.
// Here each piece that has arrived is replaced by a request for the next before it is counted, and
// the first requests leave before the counters are even cleared. So bytes are on their way all the
// time, with the same registers. __ldcs marks them as read once, not worth a place in the cache.
// What is left: clearing before, handing in after, and the launch of the cudaMemset.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/histogram/kit/bins.hpp"
#include "06_atomics_streams/histogram/kit/lane_columns.cuh"
#include "06_atomics_streams/histogram/kit/pieces.cuh"
#include "common/kit/check.cuh"

namespace histogram {

__global__ void __launch_bounds__(kColumnBlock)
    histogram_prefetch_kernel(const unsigned char* x, std::int64_t n, unsigned* counts) {
  __shared__ alignas(16) unsigned columns[32 * kBins];
  __shared__ unsigned sums[kBins];
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kColumnBlock;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kColumnBlock + threadIdx.x;
  const Pieces pieces = split_in_pieces(x, n);
  const auto is_piece = [&](std::int64_t i) { return i < pieces.count; };
  unsigned* const column = columns + threadIdx.x % 32;
  const auto count_byte = [column](unsigned byte) { atomicAdd(&column[32 * byte], 1u); };
  const auto count = [&](uint4 piece) {
    if (is_one_byte_repeated(piece)) {
      atomicAdd(&column[32 * (piece.x & 0xff)], 16u);
    } else {
      each_byte(piece, count_byte);
    }
  };

  // region prefetch
  // The first requests leave before anything else is done.
  std::int64_t i = first;
  const bool in_groups = is_piece(i + (kInFlight - 1) * stride);
  uint4 piece[kInFlight];
  if (in_groups) {
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) piece[k] = __ldcs(pieces.first + i + k * stride);
  }
  clear_columns(columns);
  __syncthreads();

  // Each piece that is counted has been replaced by a request for a later one.
  if (in_groups) {
    for (; is_piece(i + (2 * kInFlight - 1) * stride); i += kInFlight * stride) {
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) {
        const uint4 arrived = piece[k];
        piece[k] = __ldcs(pieces.first + i + (kInFlight + k) * stride);
        count(arrived);
      }
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) count(piece[k]);
    i += kInFlight * stride;
  }
  // endregion
  // What is left: fewer pieces than a group, and the bytes that belong to none.
  for (; is_piece(i); i += stride) count(pieces.first[i]);
  each_single_byte(x, n, pieces, first, count_byte);

  __syncthreads();
  hand_in_columns(columns, sums, counts);
}

// counts[v] = how often v occurs in x[0 .. n), for all 256 values; n < 2^32. Device pointers, x
// with any alignment.
inline void histogram_prefetch(const unsigned char* x, std::int64_t n, unsigned* counts,
                               cudaStream_t stream) {
  CUDA_CHECK(cudaMemsetAsync(counts, 0, kBins * sizeof *counts, stream));
  histogram_prefetch_kernel<<<column_grid(n), kColumnBlock, 0, stream>>>(x, n, counts);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace histogram
