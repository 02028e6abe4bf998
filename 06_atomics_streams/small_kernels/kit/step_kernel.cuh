// One step of the chain.
#pragma once

#include <cuda_runtime.h>

#include "06_atomics_streams/kit/xorshift.cuh"

namespace small_kernels {

__global__ void small_kernels_step_kernel(unsigned* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = atomics_streams::xorshift(x[i]);
}

}  // namespace small_kernels
