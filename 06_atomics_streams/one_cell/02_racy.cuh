// racy: WRONG ON PURPOSE. Every thread adds its sample to the block's cell with a plain +.
//
// `cell + x[i]` is three steps: load, add, store. The threads of a warp all load the same value,
// and of their stores one survives: at least 31 of 32 samples are lost. Between warps it depends on
// who comes when, so the total changes from run to run. What is still wrong: everything. The cell
// is in shared memory because compute-sanitizer looks for races there; the cells of the blocks are
// added up properly.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/check.cuh"

namespace one_cell {

__global__ void one_cell_racy_kernel(const std::uint16_t* x, std::int64_t n,
                                     unsigned long long* total) {
  __shared__ unsigned cell;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) cell = 0;
  __syncthreads();
  if (i < n) cell = cell + x[i];  // the race: nothing keeps others out between load and store
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, static_cast<unsigned long long>(cell));
}

// *total = something less than the sum of x[0 .. n). Device pointers.
inline void one_cell_racy(const std::uint16_t* x, std::int64_t n, unsigned long long* total,
                          cudaStream_t stream) {
  const int block = 256;
  CUDA_CHECK(cudaMemsetAsync(total, 0, sizeof *total, stream));
  if (n == 0) return;
  one_cell_racy_kernel<<<(n + block - 1) / block, block, 0, stream>>>(x, n, total);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace one_cell
