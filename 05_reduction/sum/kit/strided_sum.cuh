// A thread's part of a sum, when the grid strides through the array, which may begin anywhere.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace reduction {

// Elements of x before the first that is aligned to 16 bytes, of n in all.
__device__ inline std::int64_t unaligned_head(const float* x, std::int64_t n) {
  const std::int64_t head = (16 - reinterpret_cast<std::uintptr_t>(x) % 16) % 16 / sizeof(float);
  return head < n ? head : n;
}

// What thread `first` of `stride` threads adds up: every stride-th float4, and at most one of the
// elements before them and one of those after them.
__device__ inline float strided_sum(const float* x, std::int64_t n, std::int64_t first,
                                    std::int64_t stride) {
  const std::int64_t head = unaligned_head(x, n);
  const std::int64_t vectors = (n - head) / 4;
  const std::int64_t tail = head + 4 * vectors;
  const float4* x4 = reinterpret_cast<const float4*>(x + head);
  float sum = 0;
  for (std::int64_t i = first; i < vectors; i += stride) {
    const float4 v = x4[i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  if (first < head) sum += x[first];
  if (tail + first < n) sum += x[tail + first];
  return sum;
}

}  // namespace reduction
