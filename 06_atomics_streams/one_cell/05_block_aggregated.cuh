// block_aggregated: each block has a cell of its own (privatization) and hands it in once.
//
// `racy` with the one word that makes it right: atomicAdd on the block's cell. Its queue is in
// shared memory, on the SM itself, and every block has its own. Only one request per block goes to
// the cell that all share. (The block's cell has 32 bits, so nvcc sums each warp first: see
// `warp_aggregated`.) The same idea carries histograms. What is still wrong: a thread is started
// for a single sample, and every 256 samples still cost a trip to the one cell.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/check.cuh"

namespace one_cell {

__global__ void one_cell_block_aggregated_kernel(const std::uint16_t* x, std::int64_t n,
                                                 unsigned long long* total) {
  __shared__ unsigned cell;  // 1024 samples of 16 bits fit into 32 bits
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) cell = 0;
  __syncthreads();
  if (i < n) atomicAdd(&cell, static_cast<unsigned>(x[i]));
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, static_cast<unsigned long long>(cell));
}

// *total = the sum of x[0 .. n). Device pointers.
inline void one_cell_block_aggregated(const std::uint16_t* x, std::int64_t n,
                                      unsigned long long* total, cudaStream_t stream) {
  const int block = 256;
  CUDA_CHECK(cudaMemsetAsync(total, 0, sizeof *total, stream));
  if (n == 0) return;
  one_cell_block_aggregated_kernel<<<(n + block - 1) / block, block, 0, stream>>>(x, n, total);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace one_cell
