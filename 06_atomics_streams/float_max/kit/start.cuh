// The identity of the maximum, and a cell that holds it.
#pragma once

#include <cuda_runtime.h>

#include <limits>

#include "common/kit/check.cuh"

namespace float_max {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

__global__ void float_max_start_kernel(float* largest) { *largest = kLowest; }

// *largest = the identity of the maximum. A launch of its own, before any block may add to it.
inline void float_max_start(float* largest, cudaStream_t stream) {
  float_max_start_kernel<<<1, 1, 0, stream>>>(largest);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace float_max
