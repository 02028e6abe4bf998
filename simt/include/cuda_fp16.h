// half: 16-bit floating point with CUDA's names.
#pragma once

#include "simt/cuda.h"
#include "simt/small_float.h"

struct __half_raw {
  unsigned short x;
};

struct __half {
  __half() = default;
  __half(__half_raw raw) : bits_(raw.x) {}
  __half(float value) : bits_(simt::half_bits_from_float(value)) {}
  __half(double value)
      : bits_(value != value ? simt::narrowed_nan(value, 10)
                             : simt::half_bits_from_float(simt::round_to_odd(value))) {}
  __half(int value) : __half(static_cast<double>(value)) {}
  __half(unsigned value) : __half(static_cast<double>(value)) {}
  __half(short value) : __half(static_cast<float>(value)) {}
  __half(unsigned short value) : __half(static_cast<float>(value)) {}
  __half(long value) : __half(static_cast<double>(value)) {}
  __half(unsigned long value) : __half(static_cast<double>(value)) {}
  __half(long long value) : __half(static_cast<double>(value)) {}
  __half(unsigned long long value) : __half(static_cast<double>(value)) {}
  // The value may lie in memory: these three are how it is read.
  SIMT_UNWATCHED operator float() const {
    SIMT_NOTE(read, this, sizeof bits_);
    return simt::float_from_half_bits(bits_);
  }
  SIMT_UNWATCHED explicit operator bool() const {
    SIMT_NOTE(read, this, sizeof bits_);
    return (bits_ & 0x7fff) != 0;
  }
  SIMT_UNWATCHED operator __half_raw() const {
    SIMT_NOTE(read, this, sizeof bits_);
    return {bits_};
  }

 private:
  unsigned short bits_;
};
typedef __half half;
typedef __half __nv_half;

struct alignas(4) __half2 {
  __half x, y;
  __half2() = default;
  __half2(__half x, __half y) : x(x), y(y) {}
};
typedef __half2 half2;
typedef __half2 __nv_half2;

#define SIMT_T __half
#define SIMT_T2 __half2
#include "simt/small_float.inc"
#undef SIMT_T
#undef SIMT_T2

SIMT_INLINE __half __float2half(float a) { return __half(a); }
SIMT_INLINE __half __float2half_rn(float a) { return __half(a); }
SIMT_INLINE __half __double2half(double a) { return __half(a); }
SIMT_BY_VALUE float __half2float(__half a) { return float(a); }
SIMT_INLINE __half __int2half_rn(int a) { return __half(a); }
SIMT_INLINE __half __uint2half_rn(unsigned a) { return __half(a); }
SIMT_BY_VALUE int __half2int_rn(__half a) { return __float2int_rn(float(a)); }
SIMT_BY_VALUE int __half2int_rz(__half a) { return __float2int_rz(float(a)); }
SIMT_BY_VALUE int __half2int_rd(__half a) { return __float2int_rd(float(a)); }
SIMT_BY_VALUE int __half2int_ru(__half a) { return __float2int_ru(float(a)); }
SIMT_BY_VALUE unsigned short __half_as_ushort(__half a) { return __half_raw(a).x; }
SIMT_BY_VALUE short __half_as_short(__half a) { return static_cast<short>(__half_raw(a).x); }
SIMT_INLINE __half __ushort_as_half(unsigned short bits) { return __half_raw{bits}; }
SIMT_INLINE __half __short_as_half(short bits) {
  return __half_raw{static_cast<unsigned short>(bits)};
}
// Toward zero: the nearest, one step back if that is too far from zero.
SIMT_INLINE __half __float2half_rz(float a) {
  __half h(a);
  if (std::isinf(float(h)) && !std::isinf(a)) return __ushort_as_half(a > 0 ? 0x7bff : 0xfbff);
  if (fabsf(float(h)) > fabsf(a))
    h = __ushort_as_half(static_cast<unsigned short>(__half_raw(h).x - 1));
  return h;
}

SIMT_BY_VALUE __half2 make_half2(__half x, __half y) { return {x, y}; }
SIMT_BY_VALUE __half2 __halves2half2(__half x, __half y) { return {x, y}; }
SIMT_BY_VALUE __half2 __half2half2(__half a) { return {a, a}; }
SIMT_INLINE __half2 __float2half2_rn(float a) { return {__half(a), __half(a)}; }
SIMT_INLINE __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
SIMT_BY_VALUE __half2 __float22half2_rn(float2 a) { return {__half(a.x), __half(a.y)}; }
SIMT_BY_VALUE float2 __half22float2(__half2 a) { return {float(a.x), float(a.y)}; }
SIMT_BY_VALUE __half __low2half(__half2 a) { return a.x; }
SIMT_BY_VALUE __half __high2half(__half2 a) { return a.y; }
SIMT_BY_VALUE __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
SIMT_BY_VALUE __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
SIMT_BY_VALUE __half2 __lowhigh2highlow(__half2 a) { return {a.y, a.x}; }
SIMT_BY_VALUE __half2 __lows2half2(__half2 a, __half2 b) { return __lows2pair(a, b); }
SIMT_BY_VALUE __half2 __highs2half2(__half2 a, __half2 b) { return __highs2pair(a, b); }

#define CUDART_INF_FP16 __ushort_as_half(static_cast<unsigned short>(0x7c00))
#define CUDART_NAN_FP16 __ushort_as_half(static_cast<unsigned short>(0x7fff))
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(static_cast<unsigned short>(0x7bff))
#define CUDART_ZERO_FP16 __ushort_as_half(static_cast<unsigned short>(0))
#define CUDART_ONE_FP16 __ushort_as_half(static_cast<unsigned short>(0x3c00))
