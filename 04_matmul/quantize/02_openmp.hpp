// openmp: all cores, and bytes made by shifts, which vectors can do.
//
// E4M3 is a float with fewer bits. Half of its last place, added to the float's bits, rounds, and a
// shift leaves four bits of exponent and three of mantissa. Below 2^-6 its numbers are multiples of
// 2^-9, the distance of floats near 2^14: adding 2^14 rounds to them. And 1 / scale is found once,
// for a scale. What is still wrong: a CPU's memory is many times slower than a GPU's, and nothing
// but memory limits this.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "04_matmul/kit/scaling.cuh"
#include "04_matmul/quantize/kit/operand.hpp"

namespace matmul::quantize {

inline float float_of(std::uint32_t bits) {
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}
inline std::uint32_t bits_of(float number) {
  std::uint32_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  return bits;
}

// The byte of E4M3 that is nearest to v, no NaN.
inline unsigned char narrow(float v) {
  // region narrow
  const std::uint32_t sign = bits_of(v) >> 24 & 0x80u, size = bits_of(v) & 0x7fffffffu;
  // Rounded at bit 20, a tie to the even neighbour; the biases of the exponents are 127 and 7.
  const std::uint32_t last = size >> 20 & 1u;
  const std::uint32_t normal = ((size + 0x7ffffu + last) >> 20) - (120u << 3);
  const std::uint32_t multiple = bits_of(float_of(size) + 0x1p14f) - bits_of(0x1p14f);
  const std::uint32_t byte = size < bits_of(0x1p-6f) ? multiple : std::min(normal, 0x7eu);
  // endregion
  return static_cast<unsigned char>(sign | byte);
}

// The largest size of `count` elements.
inline float largest_of(const std::uint16_t* x, std::int64_t count) {
  std::uint32_t largest = 0;  // sizes are in the order of their bits
#pragma omp simd reduction(max : largest)
  for (std::int64_t p = 0; p < count; ++p) largest = std::max(largest, x[p] & 0x7fffu);
  return float_of(largest << 16);
}

// o.q and o.scales from o.x. Host pointers. Uses omp_get_max_threads() threads.
inline void quantize_openmp(const Operand& o, Scaling scaling) {
  const ScaleLayout layout = {scaling, o.m, 0, o.k};
  const auto* x = reinterpret_cast<const std::uint16_t*>(o.x);
  auto* q = reinterpret_cast<unsigned char*>(o.q);
  float of_all = 0;
  if (scaling == Scaling::tensor) {
#pragma omp parallel for schedule(static) reduction(max : of_all)
    for (std::int64_t i = 0; i < o.m; ++i) of_all = std::max(of_all, largest_of(x + i * o.k, o.k));
    *o.scales = scale_for(of_all);
  }
  // As many neighbours of a row as share a scale.
  const std::int64_t stretch = scaling == Scaling::blocks ? kScaleBlock : o.k;
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < o.m; ++i) {
    for (std::int64_t first = 0; first < o.k; first += stretch) {
      const std::int64_t at = i * o.k + first, count = std::min(stretch, o.k - first);
      float& scale = o.scales[layout.index_a(i, first)];
      if (scaling != Scaling::tensor) scale = scale_for(largest_of(x + at, count));
      const float inverse = 1 / scale;
#pragma omp simd
      for (std::int64_t p = 0; p < count; ++p) {
        q[at + p] = narrow(float_of(static_cast<std::uint32_t>(x[at + p]) << 16) * inverse);
      }
    }
  }
}

}  // namespace matmul::quantize
