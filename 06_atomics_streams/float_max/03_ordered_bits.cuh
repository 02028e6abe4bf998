// ordered_bits: the integer maximum does it, if one knows how floats are laid out.
//
// Read as integers, the bits of positive floats rise with the floats; those of negative floats
// fall. So a value without sign bit goes through the signed maximum and one with it through the
// unsigned minimum: one request, no loop. The sign bit decides, not `value < 0`: -0.0 has one. What
// is still wrong: every warp sends one or two requests to one address (nvcc joins those of its
// lanes).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/float_max/kit/atomic_max.cuh"
#include "06_atomics_streams/float_max/kit/start.cuh"
#include "common/kit/check.cuh"

namespace float_max {

__global__ void float_max_ordered_bits_kernel(const float* x, std::int64_t n, float* largest) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) atomic_max_by_bits(largest, x[i]);
}

// *largest = the largest of x[0 .. n), minus infinity if n = 0. Device pointers.
inline void float_max_ordered_bits(const float* x, std::int64_t n, float* largest,
                                   cudaStream_t stream) {
  const int block = 256;
  float_max_start(largest, stream);
  if (n == 0) return;
  float_max_ordered_bits_kernel<<<(n + block - 1) / block, block, 0, stream>>>(x, n, largest);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace float_max
