// A block's inputs with their halo, in shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace window {

// tile[j] = x[first + j] for all j < count, 0 where x has no such element. All threads of the
// block.
__device__ inline void window_load_tile(const float* x, std::int64_t n, std::int64_t first,
                                        int count, float* tile) {
  for (int j = threadIdx.x; j < count; j += blockDim.x) {
    const std::int64_t i = first + j;
    tile[j] = i >= 0 && i < n ? x[i] : 0.0f;
  }
}

}  // namespace window
