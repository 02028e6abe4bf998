// Rung 6, lane_columns: a set of counters for every lane, each in a memory bank of its own.
//
// Counter (bin, lane) is word 32 * bin + lane, so lane l only ever touches bank l: whatever the
// data, 32 lanes reach 32 banks and no request waits for another of its warp. That costs 32 KB
// instead of 1 KB, and so much clearing and handing in that one block of 1024 threads per SM is
// best. Threads are few then, so each asks for four pieces before it counts the first. What is
// still wrong: 16 requests for 16 equal bytes.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "06_atomics_streams/histogram/05_vectorized.cuh"
#include "06_atomics_streams/histogram/problem.cuh"
#include "06_atomics_streams/one_cell/04_warp_aggregated.cuh"
#include "common/cuda_check.cuh"
#include "common/launch.cuh"

constexpr int kColumnBlock = 1024;  // threads; one block fills half an SM
constexpr int kInFlight = 4;        // pieces that a thread asks for at once

// How rung 6 counts a piece: byte by byte, in the column of its lane.
struct CountBytes {
  __device__ static void take(uint4 piece, unsigned* column) {
    each_byte(piece, [column](unsigned byte) { atomicAdd(&column[32 * byte], 1u); });
  }
};

// Clears the counters, four at a time.
__device__ inline void clear_columns(unsigned* columns) {
  for (int c = threadIdx.x; c < 32 * kBins / 4; c += blockDim.x) {
    reinterpret_cast<uint4*>(columns)[c] = make_uint4(0, 0, 0, 0);
  }
}

// Adds the 32 columns up and hands the sums in. Eight threads share a bin, four counters each; the
// sums meet in `sums`, so that 32 neighbouring bins go to memory in one request.
__device__ inline void hand_in_columns(const unsigned* columns, unsigned* sums, unsigned* counts) {
  static_assert(8 * kBins % kColumnBlock == 0, "all lanes of a warp reach the shuffles");
  for (int c = threadIdx.x; c < 8 * kBins; c += kColumnBlock) {
    const uint4 four = reinterpret_cast<const uint4*>(columns)[c];
    unsigned sum = four.x + four.y + four.z + four.w;
    for (int step = 4; step > 0; step /= 2) sum += __shfl_down_sync(kAllLanes, sum, step, 8);
    if (c % 8 == 0) sums[c / 8] = sum;
  }
  __syncthreads();
  if (threadIdx.x < kBins && sums[threadIdx.x] > 0) {
    atomicAdd(&counts[threadIdx.x], sums[threadIdx.x]);
  }
}

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

// One block per SM, fewer if there is not that much to do.
inline int column_grid(std::int64_t n) {
  const int needed = common::divide_up(n / 16, kColumnBlock);
  return std::clamp(needed, 1, common::multiprocessor_count());
}

template <class Count>
void launch_lane_columns(const unsigned char* x, std::int64_t n, unsigned* counts,
                         cudaStream_t stream) {
  CUDA_CHECK(cudaMemsetAsync(counts, 0, kBins * sizeof *counts, stream));
  histogram_lane_columns_kernel<Count><<<column_grid(n), kColumnBlock, 0, stream>>>(x, n, counts);
  CUDA_CHECK(cudaGetLastError());
}

// counts[v] = how often v occurs in x[0 .. n), for all 256 values; n < 2^32. Device pointers, x
// with any alignment.
inline void histogram_lane_columns(const unsigned char* x, std::int64_t n, unsigned* counts,
                                   cudaStream_t stream) {
  launch_lane_columns<CountBytes>(x, n, counts, stream);
}
