// The plain copy with 16 bytes an access: the last rung of copy/, and the yardstick of other
// problems.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace coalescing {

// y[i] = x[i] for all i < n. Both pointers aligned to 16 bytes; n / 4 + n % 4 threads.
static __global__ void copy_vectorized_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t vectors = n / 4;
  if (i < vectors) {
    reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i];
  } else if (const std::int64_t tail = 4 * vectors + (i - vectors); tail < n) {
    y[tail] = x[tail];  // the last n % 4 floats
  }
}

}  // namespace coalescing
