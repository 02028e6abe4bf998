// vectorized: 16 bytes per load.
//
// A thread takes a uint4 and counts its 16 bytes out of registers: a sixteenth of the load
// instructions for the same counting. A uint4 must lie on a 16-byte boundary, so the bytes before
// the first boundary and after the last are counted one by one. What is still wrong: 32 lanes
// with random bytes bring 3 or 4 into the fullest memory bank, and a bank serves one at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/histogram/kit/bins.hpp"
#include "06_atomics_streams/histogram/kit/grid.cuh"
#include "06_atomics_streams/histogram/kit/pieces.cuh"
#include "common/kit/check.cuh"

namespace histogram {

__global__ void histogram_vectorized_kernel(const unsigned char* x, std::int64_t n,
                                            unsigned* counts) {
  __shared__ unsigned bins[kBins];
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) bins[b] = 0;
  __syncthreads();

  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  // region count
  const auto count = [&](unsigned byte) { atomicAdd(&bins[byte], 1u); };
  const Pieces pieces = split_in_pieces(x, n);
  for (std::int64_t i = first; i < pieces.count; i += stride) each_byte(pieces.first[i], count);
  each_single_byte(x, n, pieces, first, count);
  // endregion

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

}  // namespace histogram
