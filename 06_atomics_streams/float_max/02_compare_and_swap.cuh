// compare_and_swap: a new atomic operation, built from the one that can be all others.
//
// atomicCAS(cell, seen, wanted) stores `wanted` only if the cell still holds `seen`, and returns
// what it held. So: look, compute, try, and if another thread was faster, compute again from what
// is there now. A try that fails costs time but never the result. A value that is not larger sends
// no request, so requests become rare as the maximum rises. What is still wrong: at the start every
// value is larger than minus infinity, and for a maximum there is a shorter way.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/float_max/kit/start.cuh"
#include "common/kit/check.cuh"

namespace float_max {

// *cell = max(*cell, value), atomically. The cell is compared as bits: 0.0 and -0.0 are equal as
// floats, and a loop that compared floats could wait for ever on a NaN. A NaN in `value` is
// ignored.
__device__ inline void atomic_max_by_cas(float* cell, float value) {
  unsigned* const bits = reinterpret_cast<unsigned*>(cell);
  unsigned seen = *reinterpret_cast<volatile unsigned*>(cell);
  while (value > __uint_as_float(seen)) {
    const unsigned found = atomicCAS(bits, seen, __float_as_uint(value));
    if (found == seen) break;
    seen = found;
  }
}

__global__ void float_max_compare_and_swap_kernel(const float* x, std::int64_t n, float* largest) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) atomic_max_by_cas(largest, x[i]);
}

// *largest = the largest of x[0 .. n), minus infinity if n = 0. Device pointers.
inline void float_max_compare_and_swap(const float* x, std::int64_t n, float* largest,
                                       cudaStream_t stream) {
  const int block = 256;
  float_max_start(largest, stream);
  if (n == 0) return;
  float_max_compare_and_swap_kernel<<<(n + block - 1) / block, block, 0, stream>>>(x, n, largest);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace float_max
