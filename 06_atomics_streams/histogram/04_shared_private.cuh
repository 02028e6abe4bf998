// shared_private: each block counts in shared memory and hands in 256 numbers at the end.
//
// Privatization again: a block's counters collide only with its own threads, and the queue is on
// the SM. The price is 256 counters to clear and 256 requests to hand in per block, so a block must
// count many bytes: the grid is only as large as the chip. What is still wrong: a warp asks
// for 32 bytes of memory at a time, a sixteenth of what one load could bring.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/histogram/kit/bins.hpp"
#include "06_atomics_streams/histogram/kit/grid.cuh"
#include "common/kit/check.cuh"

namespace histogram {

__global__ void histogram_shared_private_kernel(const unsigned char* x, std::int64_t n,
                                                unsigned* counts) {
  __shared__ unsigned bins[kBins];
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) bins[b] = 0;
  __syncthreads();

  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t i = first; i < n; i += stride) atomicAdd(&bins[x[i]], 1u);

  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) atomicAdd(&counts[b], bins[b]);
}

// counts[v] = how often v occurs in x[0 .. n), for all 256 values; n < 2^32. Device pointers.
inline void histogram_shared_private(const unsigned char* x, std::int64_t n, unsigned* counts,
                                     cudaStream_t stream) {
  const int block = 256;
  const int grid = histogram_grid(histogram_shared_private_kernel, block, n);
  CUDA_CHECK(cudaMemsetAsync(counts, 0, kBins * sizeof *counts, stream));
  histogram_shared_private_kernel<<<grid, block, 0, stream>>>(x, n, counts);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace histogram
