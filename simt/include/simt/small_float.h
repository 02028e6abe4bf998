// Conversions between float and the 16-bit floating-point formats: half (5 bits of exponent, 10 of
// mantissa) and bfloat16 (8 and 7). Rounding is to the nearest, ties to even, unless a name says
// otherwise.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "simt/math.h"

namespace simt {

SIMT_INLINE float float_from_half_bits(uint16_t half) {
  // The exponent moves from 5 to 8 bits: shift everything into place and scale by 2^(127 - 15),
  // which is right for subnormal numbers, too. Infinity and NaN keep their all-ones exponent.
  float magnitude = bits_as<float>(static_cast<uint32_t>(half & 0x7fff) << 13) * 0x1p112f;
  uint32_t bits = bits_as<uint32_t>(magnitude);
  if ((half & 0x7c00) == 0x7c00) bits |= 0x7f800000;
  return bits_as<float>(bits | static_cast<uint32_t>(half & 0x8000) << 16);
}

SIMT_INLINE uint16_t half_bits_from_float(float value) {
  uint32_t bits = bits_as<uint32_t>(value);
  const uint16_t sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return 0x7fff;          // NaN
  if (bits >= 0x47800000) return sign | 0x7c00;  // 65536 and more: infinity
  if (bits < 0x38800000) {                       // less than 2^-14: subnormal
    // Adding 1/2 shifts the mantissa so that its last bit is worth 2^-24, and rounds.
    return sign |
           static_cast<uint16_t>(bits_as<uint32_t>(bits_as<float>(bits) + 0.5f) - 0x3f000000);
  }
  bits += 0xc8000fff + (bits >> 13 & 1);  // exponent bias 127 to 15, and round
  return sign | static_cast<uint16_t>(bits >> 13);
}

SIMT_INLINE float float_from_bfloat16_bits(uint16_t bfloat16) {
  return bits_as<float>(static_cast<uint32_t>(bfloat16) << 16);
}

SIMT_INLINE uint16_t bfloat16_bits_from_float(float value) {
  const uint32_t bits = bits_as<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;  // NaN
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// The bits of a NaN of type double as a smaller one with so many bits of fraction: its sign and its
// first bits stay. What computes with NaN makes 0x7fff of it.
SIMT_INLINE uint16_t narrowed_nan(double nan, int fraction) {
  const uint64_t bits = bits_as<uint64_t>(nan);
  const unsigned kept = static_cast<unsigned>(bits >> (52 - fraction)) & ((1u << fraction) - 1);
  return static_cast<uint16_t>((bits >> 48 & 0x8000) | (0x7fffu >> fraction << fraction) |
                               1u << (fraction - 1) | kept);
}

// The sum, rounded to odd: rounding it once more, to a smaller format, gives what rounding the
// exact sum does.
SIMT_INLINE double sum_to_odd(double x, double y) {
  const double sum = x + y, part = sum - x;
  const double rest = (x - (sum - part)) + (y - part);  // what is lost of it, exactly
  const uint64_t bits = bits_as<uint64_t>(sum);
  if (!(std::fabs(rest) > 0) || std::isinf(sum) || (bits & 1)) return sum;
  return bits_as<double>((rest > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

// A double as the float below or above it whose last bit is 1 unless it is exact. Rounding this to
// an even smaller format gives the same as rounding the double at once.
SIMT_INLINE float round_to_odd(double value) {
  float f = toward_zero(value);
  if (static_cast<double>(f) != value && value == value)
    f = bits_as<float>(bits_as<uint32_t>(f) | 1u);
  return f;
}

}  // namespace simt
