// lane_columns: a set of counters for every lane, each in a memory bank of its own.
//
// Counter (bin, lane) is word 32 * bin + lane, so lane l only ever touches bank l: whatever the
// data, 32 lanes reach 32 banks and no request waits for another of its warp. That costs 32 KB
// instead of 1 KB, and so much clearing and handing in that one block of 1024 threads per SM is
// best. Threads are few then, so each asks for four pieces before it counts the first. What is
// still wrong: 16 requests for 16 equal bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/histogram/kit/bins.hpp"
#include "06_atomics_streams/histogram/kit/lane_columns.cuh"
#include "06_atomics_streams/histogram/kit/pieces.cuh"
#include "common/kit/check.cuh"

namespace histogram {

__global__ void __launch_bounds__(kColumnBlock)
    histogram_lane_columns_kernel(const unsigned char* x, std::int64_t n, unsigned* counts) {
  __shared__ alignas(16) unsigned columns[32 * kBins];
  __shared__ unsigned sums[kBins];
  static_assert(kColumnBlock >= kBins, "one thread per bin hands in");
  clear_columns(columns);
  __syncthreads();

  unsigned* const column = columns + threadIdx.x % 32;
  const auto count_byte = [column](unsigned byte) { atomicAdd(&column[32 * byte], 1u); };
  const auto count = [&](uint4 piece) { each_byte(piece, count_byte); };
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kColumnBlock;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kColumnBlock + threadIdx.x;
  const Pieces pieces = split_in_pieces(x, n);
  std::int64_t i = first;
  for (; i + (kInFlight - 1) * stride < pieces.count; i += kInFlight * stride) {
    uint4 piece[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) piece[k] = pieces.first[i + k * stride];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) count(piece[k]);
  }
  for (; i < pieces.count; i += stride) count(pieces.first[i]);
  each_single_byte(x, n, pieces, first, count_byte);

  __syncthreads();
  hand_in_columns(columns, sums, counts);
}

// counts[v] = how often v occurs in x[0 .. n), for all 256 values; n < 2^32. Device pointers, x
// with any alignment.
inline void histogram_lane_columns(const unsigned char* x, std::int64_t n, unsigned* counts,
                                   cudaStream_t stream) {
  CUDA_CHECK(cudaMemsetAsync(counts, 0, kBins * sizeof *counts, stream));
  histogram_lane_columns_kernel<<<column_grid(n), kColumnBlock, 0, stream>>>(x, n, counts);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace histogram
