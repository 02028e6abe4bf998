// Adding to C where several blocks compute parts of the same elements.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/toolkit.cuh"

namespace matmul::sgemm {

// Adds the four elements (row, col .. col + 3) to C, as far as they are inside, each of them
// atomically. kVectors: they are inside or outside together and aligned to 16 bytes.
template <bool kVectors>
__device__ inline void add_four(float* c, int row, int col, int rows, int cols,
                                const float* values) {
  if (row >= rows || col >= cols) return;
  float* to = c + static_cast<std::int64_t>(row) * cols + col;
  if constexpr (kVectors) {
    kit::add_four(reinterpret_cast<float4*>(to),
                  make_float4(values[0], values[1], values[2], values[3]));
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (col + i < cols) atomicAdd(to + i, values[i]);
    }
  }
}

}  // namespace matmul::sgemm
