// The elements of matrices as floats.
#pragma once

#include <cstdint>
#include <cstring>

#include "simt/ptx.h"
#include "tensor_sum.h"

namespace simt {

constexpr unsigned bits_of(ptx::Element element) {
  using ptx::Element;
  switch (element) {
    case Element::s4:
    case Element::u4: return 4;
    case Element::s8:
    case Element::u8:
    case Element::e4m3:
    case Element::e5m2: return 8;
    case Element::f16:
    case Element::bf16: return 16;
    case Element::f64:
    case Element::s64:
    case Element::u64:
    case Element::b64: return 64;
    default: return 32;
  }
}

constexpr bool is_integer(ptx::Element element) {
  using ptx::Element;
  return element == Element::s4 || element == Element::u4 || element == Element::s8 ||
         element == Element::u8 || element == Element::s32;
}

// Of a floating-point element that a tensor core multiplies.
inline Number number_of(ptx::Element element) {
  using ptx::Element;
  switch (element) {
    case Element::e4m3: return Number::e4m3;
    case Element::e5m2: return Number::e5m2;
    case Element::f16: return Number::f16;
    case Element::bf16: return Number::bf16;
    default: return Number::tf32;
  }
}

// The value of an element in the lower bits of a word. The chip cuts a tf32 off after 10 bits.
inline float element_value(ptx::Element element, uint32_t bits) {
  using ptx::Element;
  switch (element) {
    case Element::f16: return float_from_half_bits(static_cast<uint16_t>(bits));
    case Element::bf16: return float_from_bfloat16_bits(static_cast<uint16_t>(bits));
    case Element::tf32: return bits_as<float>(bits & ~0x1fffu);
    case Element::e4m3: return ptx::float_from_e4m3(static_cast<unsigned char>(bits));
    case Element::e5m2: return ptx::float_from_e5m2(static_cast<unsigned char>(bits));
    case Element::s8: return static_cast<float>(static_cast<signed char>(bits));
    case Element::u8: return static_cast<float>(bits & 255);
    case Element::s4: return static_cast<float>((static_cast<int>(bits & 15) ^ 8) - 8);
    case Element::u4: return static_cast<float>(bits & 15);
    default: return bits_as<float>(bits);
  }
}

}  // namespace simt
