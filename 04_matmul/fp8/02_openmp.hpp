// openmp: all cores, and vectors of numbers made by shifts instead of a table.
//
// A table look-up is a load for each element; a vector unit has no fast one. But E4M3 is a float
// with fewer bits: moved to the place of a float's exponent and mantissa, a byte is the number
// divided by 2^120, the distance of the two biases, and one multiplication repairs that, for
// subnormal numbers, too. (The byte of NaN becomes 480: inputs have none.) A thread widens 128
// values of 16 rows of A and of a row of B once, and multiplies each with each. What is still
// wrong: a CPU has no unit for numbers of 8 bits, so it widens them to 32, and their gain is lost.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "04_matmul/fp8/product.cuh"
#include "04_matmul/kit/scaling.cuh"

namespace matmul::fp8 {

// The floats of `count` elements.
inline void widen(const __nv_fp8_e4m3* from, float* to, std::int64_t count) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  // region widen
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t bits = (bytes[i] & 0x80u) << 24 | (bytes[i] & 0x7fu) << 20;
    float number;
    std::memcpy(&number, &bits, sizeof number);
    to[i] = number * 0x1p120f;
  }
  // endregion
}

// C = A B' with scales. Host pointers. Uses omp_get_max_threads() threads.
inline void fp8_gemm_openmp(const Product<>& x, Scaling scaling) {
  constexpr std::int64_t kRows = 16, kCols = 64;
  const ScaleLayout layout = {scaling, x.m, x.n, x.k};
  const std::int64_t row_blocks = (x.m + kRows - 1) / kRows, col_blocks = (x.n + kCols - 1) / kCols;
#pragma omp parallel for schedule(static)
  for (std::int64_t task = 0; task < row_blocks * col_blocks; ++task) {
    const std::int64_t first_row = task % row_blocks * kRows;
    const std::int64_t first_col = task / row_blocks * kCols;
    const std::int64_t rows = std::min(kRows, x.m - first_row);
    const std::int64_t cols = std::min(kCols, x.n - first_col);
    float sums[kRows][kCols] = {};
    for (std::int64_t first = 0; first < x.k; first += kScaleBlock) {
      const std::int64_t count = std::min<std::int64_t>(kScaleBlock, x.k - first);
      float a[kRows][kScaleBlock] = {}, b[kScaleBlock];
      for (std::int64_t r = 0; r < rows; ++r)
        widen(x.a + (first_row + r) * x.k + first, a[r], count);
      for (std::int64_t j = 0; j < cols; ++j) {
        widen(x.b + (first_col + j) * x.k + first, b, count);
        const float scale_b = x.scales_b[layout.index_b(first_col + j, first)];
        for (std::int64_t r = 0; r < rows; ++r) {
          float part = 0;
#pragma omp simd reduction(+ : part)
          for (std::int64_t p = 0; p < count; ++p) part += a[r][p] * b[p];
          sums[r][j] += part * (x.scales_a[layout.index_a(first_row + r, first)] * scale_b);
        }
      }
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t j = 0; j < cols; ++j) {
        x.c[(first_row + r) * x.n + first_col + j] = __float2bfloat16(sums[r][j]);
      }
    }
  }
}

}  // namespace matmul::fp8
