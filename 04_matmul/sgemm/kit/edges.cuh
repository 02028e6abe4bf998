// Loads and stores that stop at the edge of a matrix, one float or four at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/kit/launch.cuh"

namespace matmul::sgemm {

// Element (row, col) of a rows x cols matrix; outside of it, the 0 that changes no sum.
__device__ inline float at_or_zero(const float* x, int row, int col, int rows, int cols) {
  return row < rows && col < cols ? x[static_cast<std::int64_t>(row) * cols + col] : 0.0f;
}

// The four elements (row, col .. col + 3), zeros past the edge. kVectors: kit::has_vector_rows(x,
// cols) holds and col is a multiple of 4, so a float4 is inside or outside as a whole.
template <bool kVectors>
__device__ inline float4 four_or_zero(const float* x, int row, int col, int rows, int cols) {
  if constexpr (kVectors) {
    if (row >= rows || col >= cols) return make_float4(0, 0, 0, 0);
    return *reinterpret_cast<const float4*>(x + static_cast<std::int64_t>(row) * cols + col);
  } else {
    return make_float4(at_or_zero(x, row, col, rows, cols), at_or_zero(x, row, col + 1, rows, cols),
                       at_or_zero(x, row, col + 2, rows, cols),
                       at_or_zero(x, row, col + 3, rows, cols));
  }
}

// Stores the four elements (row, col .. col + 3) as far as they are inside. kVectors as above.
template <bool kVectors>
__device__ inline void store_four(float* x, int row, int col, int rows, int cols,
                                  const float* values) {
  if (row >= rows || col >= cols) return;
  float* to = x + static_cast<std::int64_t>(row) * cols + col;
  if constexpr (kVectors) {
    *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (col + i < cols) to[i] = values[i];
    }
  }
}

// Four neighbours in shared memory with one load. `from` is aligned to 16 bytes.
__device__ inline void load_four(float* to, const float* from) {
  const float4 v = *reinterpret_cast<const float4*>(from);
  to[0] = v.x;
  to[1] = v.y;
  to[2] = v.z;
  to[3] = v.w;
}

// Calls launch(vectors_a, vectors_b) with std::true_type or std::false_type: whether float4 fits
// the rows of A (k floats), and those of B and C (n floats).
template <class Launch>
void with_vectors(const float* a, std::int64_t k, const float* b, const float* c, std::int64_t n,
                  Launch launch) {
  const auto with_a = [&](auto vectors_b) {
    kit::has_vector_rows(a, k) ? launch(std::true_type{}, vectors_b)
                               : launch(std::false_type{}, vectors_b);
  };
  kit::has_vector_rows(b, n) && kit::has_vector_rows(c, n) ? with_a(std::true_type{})
                                                           : with_a(std::false_type{});
}

}  // namespace matmul::sgemm
