// 8-bit floats with CUDA's names: e4m3 (4 bits of exponent, 3 of mantissa, up to 448, no infinity)
// and e5m2 (the upper half of a half).
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "simt/ptx.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;

// What becomes of a number that is too large.
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

SIMT_INLINE __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturate,
                                                     __nv_fp8_interpretation_t kind) {
  if (kind == __NV_E4M3) {
    const unsigned char sign = std::signbit(x) ? 0x80 : 0;
    // From half way to the number behind 448 on: NaN.
    if (saturate == __NV_NOSAT && std::fabs(x) > 464.0f) return sign | 0x7f;
    return simt::ptx::e4m3_from_float(x);
  }
  const unsigned char sign = std::signbit(x) ? 0x80 : 0;
  if (saturate == __NV_NOSAT && std::fabs(x) >= 61440.0f) return sign | 0x7c;
  return simt::ptx::e5m2_from_float(x);
}
SIMT_INLINE __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturate,
                                                      __nv_fp8_interpretation_t kind) {
  if (x != x)  // the sign stays, and of e5m2 the first bits
    return static_cast<__nv_fp8_storage_t>(kind == __NV_E5M2 ? simt::narrowed_nan(x, 10) >> 8
                                           : std::signbit(x) ? 0xff
                                                             : 0x7f);
  return __nv_cvt_float_to_fp8(simt::round_to_odd(x), saturate, kind);
}
SIMT_INLINE __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturate,
                                                          __nv_fp8_interpretation_t kind) {
  return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_float_to_fp8(x.y, saturate, kind) << 8 |
                                           __nv_cvt_float_to_fp8(x.x, saturate, kind));
}
SIMT_INLINE __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturate,
                                                       __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(simt::float_from_half_bits(x.x), saturate, kind);
}
SIMT_INLINE __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x,
                                                           __nv_saturation_t saturate,
                                                           __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(simt::float_from_bfloat16_bits(x.x), saturate, kind);
}
SIMT_INLINE __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x,
                                               __nv_fp8_interpretation_t kind) {
  const float value =
      kind == __NV_E4M3 ? simt::ptx::float_from_e4m3(x) : simt::ptx::float_from_e5m2(x);
  return {simt::half_bits_from_float(value)};
}

namespace simt {

// One 8-bit float; the arithmetic is that of the float it converts to.
template <__nv_fp8_interpretation_t kKind>
struct Fp8 {
  __nv_fp8_storage_t __x;

  Fp8() = default;
  explicit Fp8(float x) : __x(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, kKind)) {}
  explicit Fp8(double x) : __x(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, kKind)) {}
  explicit Fp8(int x) : Fp8(static_cast<double>(x)) {}
  explicit Fp8(__half x) : Fp8(static_cast<float>(x)) {}
  explicit Fp8(__nv_bfloat16 x) : Fp8(static_cast<float>(x)) {}
  SIMT_UNWATCHED explicit operator float() const {
    SIMT_NOTE(read, this, 1);
    return kKind == __NV_E4M3 ? ptx::float_from_e4m3(__x) : ptx::float_from_e5m2(__x);
  }
  explicit operator double() const { return static_cast<float>(*this); }
  explicit operator __half() const { return __half(static_cast<float>(*this)); }
  explicit operator __nv_bfloat16() const { return __nv_bfloat16(static_cast<float>(*this)); }
};

template <__nv_fp8_interpretation_t kKind>
struct alignas(2) Fp8x2 {
  __nv_fp8x2_storage_t __x;

  Fp8x2() = default;
  explicit Fp8x2(float2 x) : __x(__nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, kKind)) {}
  explicit operator float2() const {
    Fp8<kKind> low, high;
    low.__x = static_cast<__nv_fp8_storage_t>(__x);
    high.__x = static_cast<__nv_fp8_storage_t>(__x >> 8);
    return {static_cast<float>(low), static_cast<float>(high)};
  }
};

template <__nv_fp8_interpretation_t kKind>
struct alignas(4) Fp8x4 {
  __nv_fp8x4_storage_t __x;

  Fp8x4() = default;
  explicit Fp8x4(float4 x)
      : __x(static_cast<unsigned>(Fp8x2<kKind>(float2{x.z, x.w}).__x) << 16 |
            Fp8x2<kKind>(float2{x.x, x.y}).__x) {}
  explicit operator float4() const {
    Fp8x2<kKind> low, high;
    low.__x = static_cast<__nv_fp8x2_storage_t>(__x);
    high.__x = static_cast<__nv_fp8x2_storage_t>(__x >> 16);
    const float2 a(low), b(high);
    return {a.x, a.y, b.x, b.y};
  }
};

}  // namespace simt

typedef simt::Fp8<__NV_E4M3> __nv_fp8_e4m3;
typedef simt::Fp8<__NV_E5M2> __nv_fp8_e5m2;
typedef simt::Fp8x2<__NV_E4M3> __nv_fp8x2_e4m3;
typedef simt::Fp8x2<__NV_E5M2> __nv_fp8x2_e5m2;
typedef simt::Fp8x4<__NV_E4M3> __nv_fp8x4_e4m3;
typedef simt::Fp8x4<__NV_E5M2> __nv_fp8x4_e5m2;
