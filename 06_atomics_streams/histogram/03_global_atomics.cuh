// global_atomics: one set of counters for all threads, one atomic request per byte.
//
// The loop of `sequential` with atomicAdd in place of ++. 256 counters are 256 queues instead of
// one, so random bytes collide less than the samples of `one_cell`, and a constant input is
// `one_cell` again. What is still wrong: every request travels to the L2 cache, which serves one
// per address at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/histogram/kit/bins.hpp"
#include "06_atomics_streams/histogram/kit/grid.cuh"
#include "common/kit/check.cuh"

namespace histogram {

__global__ void histogram_global_atomics_kernel(const unsigned char* x, std::int64_t n,
                                                unsigned* counts) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t i = first; i < n; i += stride) atomicAdd(&counts[x[i]], 1u);
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

}  // namespace histogram
