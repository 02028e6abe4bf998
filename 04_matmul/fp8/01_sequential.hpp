// sequential: three loops over bytes, which a table turns into numbers.
//
// A byte of E4M3 is sign, four bits of exponent (bias 7) and three of mantissa. Exponent 0 means
// subnormal numbers, multiples of 2^-9; the byte 0x7F means NaN, and there is no infinity, so the
// largest number is 448. There are only 256 of them: a table holds them all. Sums are kept in fp32
// over one block of k, multiplied by the scales of that block, and added up. What is still wrong:
// one table look-up for every element that is multiplied, and the other cores are idle.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "04_matmul/fp8/product.cuh"
#include "04_matmul/kit/scaling.cuh"

namespace matmul::fp8 {

// The numbers of all 256 bytes. E4M3: 1 + 4 + 3 bits; E5M2: 1 + 5 + 2, with infinities.
template <class Element>
std::array<float, 256> table_of_numbers() {
  // region table
  constexpr bool kIsE4M3 = std::is_same_v<Element, __nv_fp8_e4m3>;
  constexpr int kMantissaBits = kIsE4M3 ? 3 : 2, kBias = kIsE4M3 ? 7 : 15;
  std::array<float, 256> numbers;
  for (int byte = 0; byte < 256; ++byte) {
    const int exponent = (byte & 0x7f) >> kMantissaBits;
    const int mantissa = byte & ((1 << kMantissaBits) - 1);
    // Normal numbers have a leading 1 that is not stored; subnormal ones have none.
    const int significand = exponent > 0 ? mantissa + (1 << kMantissaBits) : mantissa;
    float size =
        std::ldexp(static_cast<float>(significand), std::max(exponent, 1) - kBias - kMantissaBits);
    if (kIsE4M3 && (byte & 0x7f) == 0x7f) size = std::numeric_limits<float>::quiet_NaN();
    if (!kIsE4M3 && exponent == 31) {
      size = mantissa == 0 ? std::numeric_limits<float>::infinity()
                           : std::numeric_limits<float>::quiet_NaN();
    }
    numbers[byte] = byte < 128 ? size : -size;
  }
  // endregion
  return numbers;
}

// C = A B' with scales. Host pointers.
template <class ElementA>
void fp8_gemm_sequential(const Product<ElementA>& x, Scaling scaling) {
  const auto numbers_a = table_of_numbers<ElementA>();
  const auto numbers_b = table_of_numbers<__nv_fp8_e4m3>();
  const ScaleLayout layout = {scaling, x.m, x.n, x.k};
  for (std::int64_t i = 0; i < x.m; ++i) {
    for (std::int64_t j = 0; j < x.n; ++j) {
      // region element
      const auto* a = reinterpret_cast<const unsigned char*>(x.a + i * x.k);
      const auto* b = reinterpret_cast<const unsigned char*>(x.b + j * x.k);
      float sum = 0;
      for (std::int64_t first = 0; first < x.k; first += kScaleBlock) {
        const std::int64_t last = std::min<std::int64_t>(first + kScaleBlock, x.k);
        float part = 0;
        for (std::int64_t p = first; p < last; ++p) part += numbers_a[a[p]] * numbers_b[b[p]];
        sum += part * (x.scales_a[layout.index_a(i, first)] * x.scales_b[layout.index_b(j, first)]);
      }
      x.c[i * x.n + j] = __float2bfloat16(sum);
      // endregion
    }
  }
}

}  // namespace matmul::fp8
