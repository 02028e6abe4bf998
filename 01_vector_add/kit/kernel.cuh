// The kernel of the rungs that differ in where the data comes from: one thread an element.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace vector_add {

__global__ void vector_add_cuda_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + y[i];  // the last block has threads to spare
}

}  // namespace vector_add
