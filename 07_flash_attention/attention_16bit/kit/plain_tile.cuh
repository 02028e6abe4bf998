// Tiles from global to shared memory as they lie there, by way of registers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace attention {

// Copies kRows rows from row `first` of a head with n rows into a tile, in chunks of 16 bytes, 8
// elements; zeros after the last row. By kThreads threads.
template <int kD, int kRows, int kThreads, class T>
__device__ void load_plain_tile(uint4* tile, const T* heads, std::int64_t head, int first, int n) {
  const auto* source = reinterpret_cast<const uint4*>(heads + (head * n + first) * kD);
  for (int i = threadIdx.x; i < kRows * kD / 8; i += kThreads) {
    tile[i] = first + i / (kD / 8) < n ? source[i] : make_uint4(0, 0, 0, 0);
  }
}

}  // namespace attention
