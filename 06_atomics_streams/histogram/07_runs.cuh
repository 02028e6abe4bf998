// runs: 16 equal bytes are counted with one request.
//
// `lane_columns` no longer cares what the data is, which also means that it cannot profit from easy
// data. Four comparisons find out whether a piece is one byte repeated; then it takes one addition
// of 16 instead of sixteen of 1. Random data never takes that branch and pays only for the test; a
// constant input, a cleared frame or a blank page takes it always. What is still wrong: runs
// shorter than a piece, or across its border, gain nothing.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/histogram/kit/bins.hpp"
#include "06_atomics_streams/histogram/kit/lane_columns.cuh"
#include "06_atomics_streams/histogram/kit/pieces.cuh"
#include "common/kit/check.cuh"

namespace histogram {

__global__ void __launch_bounds__(kColumnBlock)
    histogram_runs_kernel(const unsigned char* x, std::int64_t n, unsigned* counts) {
  __shared__ alignas(16) unsigned columns[32 * kBins];
  __shared__ unsigned sums[kBins];
  static_assert(kColumnBlock >= kBins, "one thread per bin hands in");
  clear_columns(columns);
  __syncthreads();

  unsigned* const column = columns + threadIdx.x % 32;
  // region count
  const auto count_byte = [column](unsigned byte) { atomicAdd(&column[32 * byte], 1u); };
  const auto count = [&](uint4 piece) {
    if (is_one_byte_repeated(piece)) {
      atomicAdd(&column[32 * (piece.x & 0xff)], 16u);
    } else {
      each_byte(piece, count_byte);
    }
  };
  // endregion
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
inline void histogram_runs(const unsigned char* x, std::int64_t n, unsigned* counts,
                           cudaStream_t stream) {
  CUDA_CHECK(cudaMemsetAsync(counts, 0, kBins * sizeof *counts, stream));
  histogram_runs_kernel<<<column_grid(n), kColumnBlock, 0, stream>>>(x, n, counts);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace histogram
