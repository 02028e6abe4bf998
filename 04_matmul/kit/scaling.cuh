// The scales that give elements of 8 bits back their size.
//
// E4M3 has 4 bits of exponent and 3 of mantissa, so numbers from 2^-9 to 448 and four significant
// bits. A matrix is divided by a scale before it is rounded to them, so that its largest element
// becomes 448, and the product is multiplied by the scales afterwards. Three ways to choose them:
// - tensor: one for all of A and one for all of B;
// - rows: one for each row of A and one for each column of B (a row of B as it lies here);
// - blocks: one for each 128 values of k of a row of A, and for 128 x 128 values of B.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace matmul {

enum class Scaling { tensor, rows, blocks };

// Rows of 8-bit elements are filled up with zeros to a multiple of 16 bytes, as TMA asks.
inline std::int64_t filled_up(std::int64_t k) { return (k + 15) / 16 * 16; }

constexpr int kScaleBlock = 128;  // values of k, and columns of B, that share a scale

// Where scales lie. They are the layouts that cuBLASLt asks for, but that there rows of A's scales
// of blocks have m elements exactly.
struct ScaleLayout {
  Scaling scaling;
  std::int64_t m, n, k;

  // From one block of k to the next: neighbours in memory are rows of A. A multiple of 16 bytes.
  __host__ __device__ std::int64_t pitch_a() const { return (m + 3) / 4 * 4; }
  // From 128 columns to the next: neighbours are blocks of k.
  __host__ __device__ std::int64_t pitch_b() const { return (blocks_of(k) + 3) / 4 * 4; }

  std::int64_t count_a() const {
    if (scaling == Scaling::tensor) return 1;
    return scaling == Scaling::rows ? m : blocks_of(k) * pitch_a();
  }
  std::int64_t count_b() const {
    if (scaling == Scaling::tensor) return 1;
    return scaling == Scaling::rows ? n : blocks_of(n) * pitch_b();
  }
  // Of element (i, p) of A, and of element (j, p) of B as it lies.
  std::int64_t index_a(std::int64_t i, std::int64_t p) const {
    if (scaling == Scaling::tensor) return 0;
    return scaling == Scaling::rows ? i : p / kScaleBlock * pitch_a() + i;
  }
  std::int64_t index_b(std::int64_t j, std::int64_t p) const {
    if (scaling == Scaling::tensor) return 0;
    return scaling == Scaling::rows ? j : j / kScaleBlock * pitch_b() + p / kScaleBlock;
  }

 private:
  __host__ __device__ static std::int64_t blocks_of(std::int64_t x) {
    return (x + kScaleBlock - 1) / kScaleBlock;
  }
};

}  // namespace matmul
