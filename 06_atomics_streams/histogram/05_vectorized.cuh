// Rung 5, vectorized: 16 bytes per load.
//
// A thread takes a uint4 and counts its 16 bytes out of registers: a sixteenth of the load
// instructions for the same counting. A uint4 must lie on a 16-byte boundary, so the bytes before
// the first boundary and after the last are counted one by one. What is still wrong: 32 lanes
// with random bytes bring 3 or 4 into the fullest memory bank, and a bank serves one at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/histogram/03_global_atomics.cuh"
#include "06_atomics_streams/histogram/problem.cuh"
#include "common/cuda_check.cuh"

// x[0 .. n) as `head` single bytes, then `count` aligned pieces of 16, then the single bytes from
// `tail` on.
struct Pieces {
  std::int64_t head, count, tail;
  const uint4* first;
};

__device__ inline Pieces split_in_pieces(const unsigned char* x, std::int64_t n) {
  const std::int64_t to_boundary = (16 - reinterpret_cast<std::uintptr_t>(x) % 16) % 16;
  Pieces pieces;
  pieces.head = to_boundary < n ? to_boundary : n;
  pieces.count = (n - pieces.head) / 16;
  pieces.tail = pieces.head + 16 * pieces.count;
  pieces.first = reinterpret_cast<const uint4*>(x + pieces.head);
  return pieces;
}

// Calls take(byte) for each of the 4 bytes of a word.
template <class Take>
__device__ inline void each_byte(unsigned word, Take take) {
#pragma unroll
  for (int k = 0; k < 4; ++k) take(word >> 8 * k & 0xff);
}

template <class Take>
__device__ inline void each_byte(uint4 piece, Take take) {
  each_byte(piece.x, take);
  each_byte(piece.y, take);
  each_byte(piece.z, take);
  each_byte(piece.w, take);
}

// Calls take(byte) for the bytes of x[0 .. n) that belong to no piece: fewer than 32.
template <class Take>
__device__ inline void each_single_byte(const unsigned char* x, std::int64_t n,
                                        const Pieces& pieces, std::int64_t thread, Take take) {
  if (thread < pieces.head) take(x[thread]);
  if (pieces.tail + thread < n) take(x[pieces.tail + thread]);
}

__global__ void histogram_vectorized_kernel(const unsigned char* x, std::int64_t n,
                                            unsigned* counts) {
  __shared__ unsigned bins[kBins];
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) bins[b] = 0;
  __syncthreads();

  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const auto count = [&](unsigned byte) { atomicAdd(&bins[byte], 1u); };
  const Pieces pieces = split_in_pieces(x, n);
  for (std::int64_t i = first; i < pieces.count; i += stride) each_byte(pieces.first[i], count);
  each_single_byte(x, n, pieces, first, count);

  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) atomicAdd(&counts[b], bins[b]);
}

// counts[v] = how often v occurs in x[0 .. n), for all 256 values; n < 2^32. Device pointers, x
// with any alignment.
inline void histogram_vectorized(const unsigned char* x, std::int64_t n, unsigned* counts,
                                 cudaStream_t stream) {
  const int block = 256;
  const int grid = histogram_grid(histogram_vectorized_kernel, block, (n + 15) / 16);
  CUDA_CHECK(cudaMemsetAsync(counts, 0, kBins * sizeof *counts, stream));
  histogram_vectorized_kernel<<<grid, block, 0, stream>>>(x, n, counts);
  CUDA_CHECK(cudaGetLastError());
}
