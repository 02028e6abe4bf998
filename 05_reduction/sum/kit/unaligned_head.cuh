// Where float4 may begin in an array with any address.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace reduction {

// Elements of x before the first that is aligned to 16 bytes, of n in all.
__device__ inline std::int64_t unaligned_head(const float* x, std::int64_t n) {
  const std::int64_t head = (16 - reinterpret_cast<std::uintptr_t>(x) % 16) % 16 / sizeof(float);
  return head < n ? head : n;
}

}  // namespace reduction
