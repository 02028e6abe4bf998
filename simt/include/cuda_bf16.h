// bfloat16: the upper half of a float, with CUDA's names.
#pragma once

#include "simt/cuda.h"
#include "simt/small_float.h"

struct __nv_bfloat16_raw {
  unsigned short x;
};

struct __nv_bfloat16 {
  __nv_bfloat16() = default;
  __nv_bfloat16(__nv_bfloat16_raw raw) : bits_(raw.x) {}
  __nv_bfloat16(float value) : bits_(simt::bfloat16_bits_from_float(value)) {}
  __nv_bfloat16(double value)
      : bits_(value != value ? simt::narrowed_nan(value, 7)
                             : simt::bfloat16_bits_from_float(simt::round_to_odd(value))) {}
  __nv_bfloat16(int value) : __nv_bfloat16(static_cast<double>(value)) {}
  __nv_bfloat16(unsigned value) : __nv_bfloat16(static_cast<double>(value)) {}
  __nv_bfloat16(short value) : __nv_bfloat16(static_cast<float>(value)) {}
  __nv_bfloat16(unsigned short value) : __nv_bfloat16(static_cast<float>(value)) {}
  __nv_bfloat16(long value) : __nv_bfloat16(static_cast<double>(value)) {}
  __nv_bfloat16(unsigned long value) : __nv_bfloat16(static_cast<double>(value)) {}
  __nv_bfloat16(long long value) : __nv_bfloat16(static_cast<double>(value)) {}
  __nv_bfloat16(unsigned long long value) : __nv_bfloat16(static_cast<double>(value)) {}
  // The value may lie in memory: these three are how it is read.
  SIMT_UNWATCHED operator float() const {
    SIMT_NOTE(read, this, sizeof bits_);
    return simt::float_from_bfloat16_bits(bits_);
  }
  SIMT_UNWATCHED explicit operator bool() const {
    SIMT_NOTE(read, this, sizeof bits_);
    return (bits_ & 0x7fff) != 0;
  }
  SIMT_UNWATCHED operator __nv_bfloat16_raw() const {
    SIMT_NOTE(read, this, sizeof bits_);
    return {bits_};
  }

 private:
  unsigned short bits_;
};
typedef __nv_bfloat16 nv_bfloat16;

struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  __nv_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) : x(x), y(y) {}
};
typedef __nv_bfloat162 nv_bfloat162;

#define SIMT_T __nv_bfloat16
#define SIMT_T2 __nv_bfloat162
#include "simt/small_float.inc"
#undef SIMT_T
#undef SIMT_T2

SIMT_INLINE __nv_bfloat16 __float2bfloat16(float a) { return __nv_bfloat16(a); }
SIMT_INLINE __nv_bfloat16 __float2bfloat16_rn(float a) { return __nv_bfloat16(a); }
SIMT_INLINE __nv_bfloat16 __float2bfloat16_rz(float a) {
  if (a != a) return __nv_bfloat16(a);
  return __nv_bfloat16_raw{static_cast<unsigned short>(__float_as_uint(a) >> 16)};
}
SIMT_INLINE __nv_bfloat16 __double2bfloat16(double a) { return __nv_bfloat16(a); }
SIMT_BY_VALUE float __bfloat162float(__nv_bfloat16 a) { return float(a); }
SIMT_INLINE __nv_bfloat16 __int2bfloat16_rn(int a) { return __nv_bfloat16(a); }
SIMT_BY_VALUE int __bfloat162int_rz(__nv_bfloat16 a) { return __float2int_rz(float(a)); }
SIMT_BY_VALUE unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) {
  return __nv_bfloat16_raw(a).x;
}
SIMT_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return __nv_bfloat16_raw{bits};
}

SIMT_BY_VALUE __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
SIMT_BY_VALUE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
SIMT_BY_VALUE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return {a, a}; }
SIMT_INLINE __nv_bfloat162 __float2bfloat162_rn(float a) {
  return {__nv_bfloat16(a), __nv_bfloat16(a)};
}
SIMT_INLINE __nv_bfloat162 __floats2bfloat162_rn(float a, float b) {
  return {__nv_bfloat16(a), __nv_bfloat16(b)};
}
SIMT_BY_VALUE __nv_bfloat162 __float22bfloat162_rn(float2 a) {
  return __floats2bfloat162_rn(a.x, a.y);
}
SIMT_BY_VALUE float2 __bfloat1622float2(__nv_bfloat162 a) { return {float(a.x), float(a.y)}; }
SIMT_BY_VALUE __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
SIMT_BY_VALUE __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }
SIMT_BY_VALUE __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return {a.x, a.x}; }
SIMT_BY_VALUE __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return {a.y, a.y}; }
