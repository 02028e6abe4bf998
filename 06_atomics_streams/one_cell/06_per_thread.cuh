// per_thread: each thread adds up many samples in a register before anybody else hears of
// it.
//
// Aggregation at every level: thread (register), warp (shuffles), block (shared memory), then one
// request per block, and only as many blocks as the chip holds at once. The cell sees about a
// thousand requests, whatever n is. What is still wrong: 2 bytes per load; chapter 05 goes on from
// here to the bandwidth of the memory.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "06_atomics_streams/kit/add_block_to_cell.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace one_cell {

__global__ void one_cell_per_thread_kernel(const std::uint16_t* x, std::int64_t n,
                                           unsigned long long* total) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned long long sum = 0;
  for (std::int64_t i = first; i < n; i += stride) sum += x[i];
  atomics_streams::add_block_to_cell(sum, total);
}

// *total = the sum of x[0 .. n). Device pointers.
inline void one_cell_per_thread(const std::uint16_t* x, std::int64_t n, unsigned long long* total,
                                cudaStream_t stream) {
  const int block = 256;
  static const int most = kit::resident_blocks(one_cell_per_thread_kernel, block);
  const int grid = static_cast<int>(std::clamp<std::int64_t>((n + block - 1) / block, 1, most));
  CUDA_CHECK(cudaMemsetAsync(total, 0, sizeof *total, stream));
  one_cell_per_thread_kernel<<<grid, block, 0, stream>>>(x, n, total);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace one_cell
