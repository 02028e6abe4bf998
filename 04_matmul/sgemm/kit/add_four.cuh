// Adding to C where several blocks compute parts of the same elements.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace matmul::sgemm {

// Adds the four elements (row, col .. col + 3) to C, as far as they are inside, each of them
// atomically. kVectors: they are inside or outside together and aligned to 16 bytes.
template <bool kVectors>
__device__ inline void add_four(float* c, int row, int col, int rows, int cols,
                                const float* values) {
  if (row >= rows || col >= cols) return;
  float* to = c + static_cast<std::int64_t>(row) * cols + col;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && CUDART_VERSION >= 12010
  if constexpr (kVectors) {  // sm_90 adds four floats with one instruction, since CUDA 12.1
    atomicAdd(reinterpret_cast<float4*>(to),
              make_float4(values[0], values[1], values[2], values[3]));
  } else
#endif
  {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (col + i < cols) atomicAdd(to + i, values[i]);
    }
  }
}

}  // namespace matmul::sgemm
