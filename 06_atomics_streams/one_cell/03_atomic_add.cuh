// atomic_add: the same addition, but indivisible.
//
// atomicAdd sends the sample to the memory system, which loads, adds and stores before it looks at
// the next request for that address. Right in any order, and no thread waits for an answer it does
// not use. What is still wrong: n requests for one address stand in one queue, while all other
// addresses and nearly all of the chip have nothing to do.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/check.cuh"

namespace one_cell {

__global__ void one_cell_atomic_add_kernel(const std::uint16_t* x, std::int64_t n,
                                           unsigned long long* total) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(total, static_cast<unsigned long long>(x[i]));
}

// *total = the sum of x[0 .. n). Device pointers. The cell is cleared before the launch: a kernel
// that cleared it itself would wipe out what faster blocks have already added.
inline void one_cell_atomic_add(const std::uint16_t* x, std::int64_t n, unsigned long long* total,
                                cudaStream_t stream) {
  const int block = 256;
  CUDA_CHECK(cudaMemsetAsync(total, 0, sizeof *total, stream));
  if (n == 0) return;
  one_cell_atomic_add_kernel<<<(n + block - 1) / block, block, 0, stream>>>(x, n, total);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace one_cell
