// Rung 3, global_atomics: one set of counters for all threads, one atomic request per byte.
//
// The loop of rung 1 with atomicAdd in place of ++. 256 counters are 256 queues instead of one, so
// random bytes collide less than the samples of problem A, and a constant input is problem A again.
// What is still wrong: every request travels to the L2 cache, which serves one per address at a
// time.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "06_atomics_streams/histogram/problem.cuh"
#include "common/cuda_check.cuh"
#include "common/launch.cuh"

__global__ void histogram_global_atomics_kernel(const unsigned char* x, std::int64_t n,
                                                unsigned* counts) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t i = first; i < n; i += stride) atomicAdd(&counts[x[i]], 1u);
}

// Blocks for n items, one a thread, but no more than the device holds at once.
template <class Kernel>
int histogram_grid(Kernel kernel, int block, std::int64_t items) {
  const std::int64_t most = common::resident_blocks(kernel, block);
  return static_cast<int>(std::clamp<std::int64_t>((items + block - 1) / block, 1, most));
}

// counts[v] = how often v occurs in x[0 .. n), for all 256 values; n < 2^32. Device pointers.
inline void histogram_global_atomics(const unsigned char* x, std::int64_t n, unsigned* counts,
                                     cudaStream_t stream) {
  const int block = 256;
  const int grid = histogram_grid(histogram_global_atomics_kernel, block, n);
  CUDA_CHECK(cudaMemsetAsync(counts, 0, kBins * sizeof *counts, stream));
  histogram_global_atomics_kernel<<<grid, block, 0, stream>>>(x, n, counts);
  CUDA_CHECK(cudaGetLastError());
}
