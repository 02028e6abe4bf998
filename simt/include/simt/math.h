// Device functions of arithmetic: conversions, bits, integer and float intrinsics. The standard
// functions (sqrtf, expf, ...) are the host's own.
//
// Fast-math intrinsics such as __expf are computed exactly here; a GPU trades some of their bits
// for speed.
#pragma once

#include <fenv.h>
#include <math.h>

#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "simt/build_mode.h"

namespace simt {

template <class To, class From>
SIMT_INLINE To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

// A float to an integer, as an H200 does it: too large or too small is the nearest there is. NaN is
// 0, or, if one of the two types has 64 bits, the upper bit alone.
template <class To, class From>
SIMT_INLINE To saturated(From value) {
  if (value != value) {
    if (sizeof(To) < 8 && sizeof(From) < 8) return 0;
    return static_cast<To>(uint64_t{1} << (8 * sizeof(To) - 1));
  }
  if (value <= static_cast<From>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  if (value >= static_cast<From>(std::numeric_limits<To>::max()))
    return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

// Of two floats the lesser: of a number and a NaN the number; -0 is less than 0. The same for the
// greater one.
template <class T>
SIMT_INLINE T lesser(T a, T b) {
  if (a != a) return b;
  return b < a || (a == b && std::signbit(b)) ? b : a;
}
template <class T>
SIMT_INLINE T greater(T a, T b) {
  if (a != a) return b;
  return a < b || (a == b && std::signbit(a)) ? b : a;
}

}  // namespace simt

// ---- min and max for every pair of arithmetic types that CUDA knows
#define SIMT_MIN_MAX(T)                                           \
  SIMT_INLINE constexpr T min(T a, T b) { return b < a ? b : a; } \
  SIMT_INLINE constexpr T max(T a, T b) { return a < b ? b : a; }
SIMT_MIN_MAX(int)
SIMT_MIN_MAX(unsigned int)
SIMT_MIN_MAX(long)
SIMT_MIN_MAX(unsigned long)
SIMT_MIN_MAX(long long)
SIMT_MIN_MAX(unsigned long long)
#undef SIMT_MIN_MAX
SIMT_INLINE float min(float a, float b) { return simt::lesser(a, b); }
SIMT_INLINE float max(float a, float b) { return simt::greater(a, b); }
SIMT_INLINE double min(double a, double b) { return simt::lesser(a, b); }
SIMT_INLINE double max(double a, double b) { return simt::greater(a, b); }
#define SIMT_MIXED(A, B, T)                                                         \
  SIMT_INLINE T min(A a, B b) { return min(static_cast<T>(a), static_cast<T>(b)); } \
  SIMT_INLINE T max(A a, B b) { return max(static_cast<T>(a), static_cast<T>(b)); } \
  SIMT_INLINE T min(B a, A b) { return min(static_cast<T>(a), static_cast<T>(b)); } \
  SIMT_INLINE T max(B a, A b) { return max(static_cast<T>(a), static_cast<T>(b)); }
SIMT_MIXED(int, unsigned int, unsigned int)
SIMT_MIXED(long, unsigned long, unsigned long)
SIMT_MIXED(long long, unsigned long long, unsigned long long)
SIMT_MIXED(float, double, double)
#undef SIMT_MIXED
SIMT_INLINE int umin(unsigned a, unsigned b) { return static_cast<int>(min(a, b)); }
SIMT_INLINE int umax(unsigned a, unsigned b) { return static_cast<int>(max(a, b)); }
SIMT_INLINE long long llmin(long long a, long long b) { return min(a, b); }
SIMT_INLINE long long llmax(long long a, long long b) { return max(a, b); }
SIMT_INLINE unsigned long long ullmin(unsigned long long a, unsigned long long b) {
  return min(a, b);
}
SIMT_INLINE unsigned long long ullmax(unsigned long long a, unsigned long long b) {
  return max(a, b);
}

// ---- functions that the host's library lacks
SIMT_INLINE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
SIMT_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
SIMT_INLINE float rcbrtf(float x) { return 1.0f / cbrtf(x); }
SIMT_INLINE double rcbrt(double x) { return 1.0 / cbrt(x); }
// In double, where no square of a float is too large or too small.
SIMT_INLINE float rhypotf(float x, float y) {
  return static_cast<float>(1 / hypot(double(x), double(y)));
}
SIMT_INLINE double norm3d(double a, double b, double c) {
  if (std::isinf(a) || std::isinf(b) || std::isinf(c)) return INFINITY;
  return hypot(hypot(a, b), c);
}
SIMT_INLINE float norm3df(float a, float b, float c) { return static_cast<float>(norm3d(a, b, c)); }
SIMT_INLINE float norm4df(float a, float b, float c, float d) {
  return static_cast<float>(std::isinf(d) ? INFINITY : hypot(norm3d(a, b, c), double(d)));
}
SIMT_INLINE float rnorm3df(float a, float b, float c) {
  return static_cast<float>(1 / norm3d(a, b, c));
}
// The sine of pi x, or of so many quarters of a turn more: x is reduced to half a quarter first,
// which is exact.
namespace simt {
SIMT_INLINE double sine_of_half_turns(double x, int quarters_more) {
  if (x != x || std::isinf(x)) return NAN;
  const double turn = fmod(x, 2.0), quarters = nearbyint(2 * turn);
  const double rest = (turn - quarters / 2) * M_PI;
  const int quarter = (static_cast<int>(quarters) + quarters_more) & 3;
  const double value = quarter & 1 ? cos(rest) : sin(rest);
  return quarter & 2 ? -value : value;
}
}  // namespace simt
SIMT_INLINE double sinpi(double x) { return simt::sine_of_half_turns(x, 0); }
SIMT_INLINE double cospi(double x) { return simt::sine_of_half_turns(x, 1); }
SIMT_INLINE float sinpif(float x) { return static_cast<float>(sinpi(x)); }
SIMT_INLINE float cospif(float x) { return static_cast<float>(cospi(x)); }
SIMT_INLINE void sincospi(double x, double* s, double* c) { *s = sinpi(x), *c = cospi(x); }
SIMT_INLINE void sincospif(float x, float* s, float* c) { *s = sinpif(x), *c = cospif(x); }
SIMT_INLINE double normcdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }
SIMT_INLINE float normcdff(float x) { return static_cast<float>(normcdf(x)); }
SIMT_INLINE float fdividef(float a, float b) { return a / b; }
SIMT_INLINE float saturate(float x) { return x > 0.0f ? fminf(x, 1.0f) : 0.0f; }
SIMT_INLINE int mulhi(int a, int b) {
  return static_cast<int>(static_cast<long long>(a) * b >> 32);
}

// ---- fast math
SIMT_INLINE float __sinf(float x) { return sinf(x); }
SIMT_INLINE float __cosf(float x) { return cosf(x); }
SIMT_INLINE float __tanf(float x) { return tanf(x); }
SIMT_INLINE void __sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
SIMT_INLINE float __expf(float x) { return expf(x); }
SIMT_INLINE float __exp10f(float x) { return powf(10.0f, x); }
SIMT_INLINE float __logf(float x) { return logf(x); }
SIMT_INLINE float __log2f(float x) { return log2f(x); }
SIMT_INLINE float __log10f(float x) { return log10f(x); }
// As it is defined: of a power of 0 to 0 it makes NaN.
SIMT_INLINE float __powf(float x, float y) { return exp2f(y * log2f(x)); }
SIMT_INLINE float __tanhf(float x) { return tanhf(x); }
SIMT_INLINE float __fdividef(float a, float b) { return a / b; }
SIMT_INLINE float __saturatef(float x) { return saturate(x); }

// ---- arithmetic with a rounding mode: _rn nearest (even), as the host does it anyway; _rz toward
// zero, _ru up, _rd down
namespace simt {

SIMT_INLINE float upward(double x) {
  float f = static_cast<float>(x);
  return f < x ? nextafterf(f, INFINITY) : f;
}
SIMT_INLINE float downward(double x) {
  float f = static_cast<float>(x);
  return f > x ? nextafterf(f, -INFINITY) : f;
}
SIMT_INLINE float toward_zero(double x) { return x < 0 ? upward(x) : downward(x); }

// While it lives, the host's processor rounds in another mode.
class Rounding {
 public:
  SIMT_INLINE explicit Rounding(int mode) : before_(fegetround()) { fesetround(mode); }
  SIMT_INLINE ~Rounding() { fesetround(before_); }

 private:
  int before_;
};
// The value, by way of a volatile variable: the compiler then computes what comes of it, or what
// it comes of, while the mode is as it shall be.
template <class T>
SIMT_INLINE T now(T value) {
  volatile T copy = value;
  return copy;
}

}  // namespace simt

// A product is rounded before it is added: the host's compiler could fuse it with a sum otherwise.
#define SIMT_NEAREST(T, prefix, fused)                                           \
  SIMT_INLINE T prefix##add_rn(T a, T b) { return simt::now(a) + simt::now(b); } \
  SIMT_INLINE T prefix##sub_rn(T a, T b) { return simt::now(a) - simt::now(b); } \
  SIMT_INLINE T prefix##mul_rn(T a, T b) { return simt::now(a * b); }            \
  SIMT_INLINE T prefix##div_rn(T a, T b) { return a / b; }                       \
  SIMT_INLINE T prefix##sqrt_rn(T a) { return std::sqrt(a); }                    \
  SIMT_INLINE T prefix##rcp_rn(T a) { return 1 / a; }                            \
  SIMT_INLINE T fused##_rn(T a, T b, T c) { return std::fma(a, b, c); }
SIMT_NEAREST(float, __f, __fmaf)
SIMT_NEAREST(double, __d, __fma)
#undef SIMT_NEAREST

#define SIMT_DIRECTED(T, name, mode, parameters, value) \
  SIMT_INLINE T name parameters {                       \
    const simt::Rounding rounding(mode);                \
    return simt::now(static_cast<T>(value));            \
  }
#define SIMT_DIRECTED_ARITHMETIC(T, prefix, fused, suffix, mode)                        \
  SIMT_DIRECTED(T, prefix##add_##suffix, mode, (T a, T b), simt::now(a) + simt::now(b)) \
  SIMT_DIRECTED(T, prefix##sub_##suffix, mode, (T a, T b), simt::now(a) - simt::now(b)) \
  SIMT_DIRECTED(T, prefix##mul_##suffix, mode, (T a, T b), simt::now(a) * simt::now(b)) \
  SIMT_DIRECTED(T, prefix##div_##suffix, mode, (T a, T b), simt::now(a) / simt::now(b)) \
  SIMT_DIRECTED(T, prefix##sqrt_##suffix, mode, (T a), std::sqrt(simt::now(a)))         \
  SIMT_DIRECTED(T, prefix##rcp_##suffix, mode, (T a), 1 / simt::now(a))                 \
  SIMT_DIRECTED(T, fused##_##suffix, mode, (T a, T b, T c),                             \
                std::fma(simt::now(a), simt::now(b), simt::now(c)))
#define SIMT_DIRECTED_FUNCTIONS(suffix, mode)                                            \
  SIMT_DIRECTED_ARITHMETIC(float, __f, __fmaf, suffix, mode)                             \
  SIMT_DIRECTED_ARITHMETIC(double, __d, __fma, suffix, mode)                             \
  SIMT_DIRECTED(float, __double2float_##suffix, mode, (double a), simt::now(a))          \
  SIMT_DIRECTED(float, __int2float_##suffix, mode, (int a), simt::now(a))                \
  SIMT_DIRECTED(float, __uint2float_##suffix, mode, (unsigned int a), simt::now(a))      \
  SIMT_DIRECTED(float, __ll2float_##suffix, mode, (long long a), simt::now(a))           \
  SIMT_DIRECTED(float, __ull2float_##suffix, mode, (unsigned long long a), simt::now(a)) \
  SIMT_DIRECTED(double, __ll2double_##suffix, mode, (long long a), simt::now(a))         \
  SIMT_DIRECTED(double, __ull2double_##suffix, mode, (unsigned long long a), simt::now(a))
SIMT_DIRECTED_FUNCTIONS(rz, FE_TOWARDZERO)
SIMT_DIRECTED_FUNCTIONS(ru, FE_UPWARD)
SIMT_DIRECTED_FUNCTIONS(rd, FE_DOWNWARD)
#undef SIMT_DIRECTED_FUNCTIONS
#undef SIMT_DIRECTED_ARITHMETIC
#undef SIMT_DIRECTED
SIMT_INLINE float __frsqrt_rn(float a) { return static_cast<float>(1.0 / sqrt(double(a))); }
SIMT_INLINE float __double2float_rn(double a) { return static_cast<float>(a); }
SIMT_INLINE float __int2float_rn(int a) { return static_cast<float>(a); }
SIMT_INLINE float __uint2float_rn(unsigned int a) { return static_cast<float>(a); }

// ---- floats to integers: _rn nearest (even), _rz toward zero, _ru up, _rd down
#define SIMT_TO_INTEGER(name, To, From)                                               \
  SIMT_INLINE To name##_rn(From x) { return simt::saturated<To>(std::nearbyint(x)); } \
  SIMT_INLINE To name##_rz(From x) { return simt::saturated<To>(std::trunc(x)); }     \
  SIMT_INLINE To name##_ru(From x) { return simt::saturated<To>(std::ceil(x)); }      \
  SIMT_INLINE To name##_rd(From x) { return simt::saturated<To>(std::floor(x)); }
SIMT_TO_INTEGER(__float2int, int, float)
SIMT_TO_INTEGER(__float2uint, unsigned int, float)
SIMT_TO_INTEGER(__float2ll, long long, float)
SIMT_TO_INTEGER(__float2ull, unsigned long long, float)
SIMT_TO_INTEGER(__double2int, int, double)
SIMT_TO_INTEGER(__double2uint, unsigned int, double)
SIMT_TO_INTEGER(__double2ll, long long, double)
SIMT_TO_INTEGER(__double2ull, unsigned long long, double)
#undef SIMT_TO_INTEGER
SIMT_INLINE double __int2double_rn(int a) { return a; }
SIMT_INLINE double __uint2double_rn(unsigned a) { return a; }
SIMT_INLINE float __ll2float_rn(long long a) { return static_cast<float>(a); }
SIMT_INLINE float __ull2float_rn(unsigned long long a) { return static_cast<float>(a); }
SIMT_INLINE double __ll2double_rn(long long a) { return static_cast<double>(a); }
SIMT_INLINE double __ull2double_rn(unsigned long long a) { return static_cast<double>(a); }

// ---- the same bits as another type
SIMT_INLINE int __float_as_int(float x) { return simt::bits_as<int>(x); }
SIMT_INLINE unsigned __float_as_uint(float x) { return simt::bits_as<unsigned>(x); }
SIMT_INLINE float __int_as_float(int x) { return simt::bits_as<float>(x); }
SIMT_INLINE float __uint_as_float(unsigned x) { return simt::bits_as<float>(x); }
SIMT_INLINE long long __double_as_longlong(double x) { return simt::bits_as<long long>(x); }
SIMT_INLINE double __longlong_as_double(long long x) { return simt::bits_as<double>(x); }
SIMT_INLINE int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
SIMT_INLINE int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
SIMT_INLINE double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(high) << 32 | static_cast<unsigned>(low));
}

// ---- bits
SIMT_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
SIMT_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
SIMT_INLINE int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
SIMT_INLINE int __clzll(long long x) {
  return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
SIMT_INLINE int __ffs(int x) { return __builtin_ffs(x); }
SIMT_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
SIMT_INLINE unsigned long long __brevll(unsigned long long x) {
  unsigned long long reversed = 0;
  for (int i = 0; i < 64; ++i) reversed |= (x >> i & 1) << (63 - i);
  return reversed;
}
SIMT_INLINE unsigned __brev(unsigned x) { return static_cast<unsigned>(__brevll(x) >> 32); }
SIMT_INLINE unsigned __fns(unsigned mask, unsigned base, int offset) {
  // The offset-th set bit, counted from `base` upward (or downward if negative).
  if (offset == 0) return mask >> base & 1 ? base : 0xffffffffu;
  int step = offset > 0 ? 1 : -1, left = offset > 0 ? offset : -offset;
  for (int i = static_cast<int>(base); i >= 0 && i < 32; i += step)
    if ((mask >> i & 1) && --left == 0) return static_cast<unsigned>(i);
  return 0xffffffffu;
}
SIMT_INLINE unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned choice = selector >> (4 * i) & 7;  // prmt takes a fourth bit, too
    result |= (static_cast<unsigned>(bytes >> (8 * choice)) & 0xff) << (8 * i);
  }
  return result;
}
SIMT_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(
      (static_cast<unsigned long long>(high) << 32 | low) << (shift & 31) >> 32);
}
SIMT_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}
SIMT_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
SIMT_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

// ---- integers
SIMT_INLINE int __mul24(int a, int b) {
  return static_cast<int>(static_cast<unsigned>(a << 8 >> 8) * static_cast<unsigned>(b << 8 >> 8));
}
SIMT_INLINE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
SIMT_INLINE int __mulhi(int a, int b) { return mulhi(a, b); }
SIMT_INLINE unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
SIMT_INLINE long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
SIMT_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
SIMT_INLINE int __hadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b) >> 1);
}
SIMT_INLINE int __rhadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1);
}
SIMT_INLINE unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b) >> 1);
}
SIMT_INLINE unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}
SIMT_INLINE unsigned __sad(int a, int b, unsigned c) {
  return c + (a > b ? static_cast<unsigned>(a) - static_cast<unsigned>(b)
                    : static_cast<unsigned>(b) - static_cast<unsigned>(a));
}
SIMT_INLINE unsigned __usad(unsigned a, unsigned b, unsigned c) {
  return c + (a > b ? a - b : b - a);
}

// Four bytes of a with four bytes of b, multiplied and added to c.
SIMT_INLINE int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 32; i += 8)
    c += static_cast<signed char>(a >> i) * static_cast<signed char>(b >> i);
  return c;
}
SIMT_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 32; i += 8) c += (a >> i & 0xff) * (b >> i & 0xff);
  return c;
}
// ---- clocks: the CPU's, so they tell nothing about a GPU
SIMT_INLINE long long clock64() {
#if defined(__x86_64__)
  return static_cast<long long>(__builtin_ia32_rdtsc());
#else
  unsigned long long ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return static_cast<long long>(ticks);
#endif
}

SIMT_INLINE void __prof_trigger(int) {}
#define __builtin_assume(condition) ((void)0)
