// warp_aggregated: the 32 threads of a warp add up first, then one of them asks.
//
// Five shuffles halve the number of values five times; lane 0 ends with the warp's sum and makes
// the only request: n / 32 instead of n. All 32 lanes must reach the shuffle, those past the end of
// x bring a zero. For 32-bit integers nvcc does this by itself when a warp adds to one address
// (look for REDUX in the machine code); for a 64-bit cell it does not. What is still wrong: n / 32
// requests for one address are still many.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/kit/warp_sum.cuh"
#include "common/kit/check.cuh"

namespace one_cell {

__global__ void one_cell_warp_aggregated_kernel(const std::uint16_t* x, std::int64_t n,
                                                unsigned long long* total) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const unsigned sum =
      atomics_streams::warp_sum(i < n ? x[i] : 0u);  // 32 samples of 16 bits fit into 32 bits
  if (threadIdx.x % 32 == 0) atomicAdd(total, static_cast<unsigned long long>(sum));
}

// *total = the sum of x[0 .. n). Device pointers.
inline void one_cell_warp_aggregated(const std::uint16_t* x, std::int64_t n,
                                     unsigned long long* total, cudaStream_t stream) {
  const int block = 256;
  CUDA_CHECK(cudaMemsetAsync(total, 0, sizeof *total, stream));
  if (n == 0) return;
  one_cell_warp_aggregated_kernel<<<(n + block - 1) / block, block, 0, stream>>>(x, n, total);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace one_cell
