// Functions of CUDA's mathematics that the host's library lacks: inverses of the error function,
// norms of vectors, modified Bessel functions.
#pragma once

#include "simt/math.h"

namespace simt {

// z of erf(z) = x, for |x| <= 0.5, where the first terms of its series are near already.
SIMT_INLINE double inverse_near_zero(double x) {
  double z = 0.5 * x * sqrt(M_PI) * (1 + M_PI / 12 * x * x);
  for (int i = 0; i < 4; ++i) {  // Halley's steps
    const double error = erf(z) - x;
    z -= error / (M_2_SQRTPI * exp(-z * z) + z * error);
  }
  return z;
}
// z of erfc(z) = y, for 0 < y <= 0.5: from an approximation of the tail (Abramowitz and Stegun,
// 26.2.22).
SIMT_INLINE double inverse_in_tail(double y) {
  const double t = sqrt(-2 * log(y / 2));
  double z = M_SQRT1_2 * (t - (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t)));
  for (int i = 0; i < 3; ++i) {
    const double error = erfc(z) - y;
    z += error / (M_2_SQRTPI * exp(-z * z) - z * error);
  }
  return z;
}

}  // namespace simt

SIMT_INLINE double erfinv(double x) {
  const double size = fabs(x);
  if (!(size <= 1)) return NAN;
  if (size == 1) return copysign(INFINITY, x);
  return size <= 0.5 ? simt::inverse_near_zero(x) : copysign(simt::inverse_in_tail(1 - size), x);
}
SIMT_INLINE double erfcinv(double y) {
  if (!(y >= 0 && y <= 2)) return NAN;
  if (y == 0 || y == 2) return y == 0 ? INFINITY : -INFINITY;
  if (y >= 0.5 && y <= 1.5) return simt::inverse_near_zero(1 - y);
  return y < 1 ? simt::inverse_in_tail(y) : -simt::inverse_in_tail(2 - y);
}
SIMT_INLINE double normcdfinv(double p) { return -M_SQRT2 * erfcinv(2 * p); }
// exp(x * x) * erfc(x)
SIMT_INLINE double erfcx(double x) {
  if (x < 25) {
    const double square = x * x, rest = fma(x, x, -square);
    const double power = exp(square);
    return std::isinf(power) ? INFINITY : (power + power * rest) * erfc(x);
  }
  double sum = 1, term = 1;
  for (int k = 1; k <= 8; ++k) sum += term *= -(2 * k - 1) / (2 * x * x);
  return sum / (x * sqrt(M_PI));
}
SIMT_INLINE float erfinvf(float x) { return static_cast<float>(erfinv(x)); }
SIMT_INLINE float erfcinvf(float y) { return static_cast<float>(erfcinv(y)); }
SIMT_INLINE float normcdfinvf(float p) { return static_cast<float>(normcdfinv(p)); }
SIMT_INLINE float erfcxf(float x) { return static_cast<float>(erfcx(x)); }

// ---- norms: an element that is infinite counts for more than one that is no number
SIMT_INLINE double norm(int count, const double* elements) {
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    if (std::isinf(elements[i])) return INFINITY;
    sum = hypot(sum, elements[i]);
  }
  for (int i = 0; i < count; ++i)
    if (std::isnan(elements[i])) return NAN;
  return sum;
}
SIMT_INLINE float normf(int count, const float* elements) {
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    if (std::isinf(elements[i])) return INFINITY;
    sum += static_cast<double>(elements[i]) * elements[i];
  }
  return static_cast<float>(sqrt(sum));
}
SIMT_INLINE double norm4d(double a, double b, double c, double d) {
  const double elements[] = {a, b, c, d};
  return norm(4, elements);
}
SIMT_INLINE double rnorm(int count, const double* elements) { return 1 / norm(count, elements); }
SIMT_INLINE float rnormf(int count, const float* elements) {
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    if (std::isinf(elements[i])) return 0;
    sum += static_cast<double>(elements[i]) * elements[i];
  }
  return static_cast<float>(1 / sqrt(sum));
}
SIMT_INLINE double rhypot(double a, double b) { return 1 / hypot(a, b); }
SIMT_INLINE double rnorm3d(double a, double b, double c) { return 1 / norm3d(a, b, c); }
SIMT_INLINE double rnorm4d(double a, double b, double c, double d) {
  return 1 / norm4d(a, b, c, d);
}
SIMT_INLINE float rnorm4df(float a, float b, float c, float d) {
  return static_cast<float>(rnorm4d(a, b, c, d));
}

// ---- modified Bessel functions of the first kind
namespace simt {
// Of order 0 or 1: by its series, all of whose terms have one sign, or for large x by the
// asymptotic one.
SIMT_INLINE double bessel_i(int order, double x) {
  const double size = fabs(x);
  if (x != x || std::isinf(x)) return order == 1 ? x : size;
  double sum = 1, term = 1;
  if (size < 30) {
    for (int k = 1; term > sum * 1e-18; ++k)
      sum += term *= size * size / 4 / (static_cast<double>(k) * (k + order));
    return order == 1 ? x / 2 * sum : sum;
  }
  for (int k = 1; k < 30; ++k) {
    const double odd = 2 * k - 1;
    sum += term *= -(4 * order - odd * odd) / (8 * k * size);
  }
  const double half = exp(size / 2);  // the whole might be too large
  return copysign(half * (half / sqrt(2 * M_PI * size)) * sum, order == 1 ? x : 1.0);
}
}  // namespace simt
SIMT_INLINE double cyl_bessel_i0(double x) { return simt::bessel_i(0, x); }
SIMT_INLINE double cyl_bessel_i1(double x) { return simt::bessel_i(1, x); }
SIMT_INLINE float cyl_bessel_i0f(float x) { return static_cast<float>(cyl_bessel_i0(x)); }
SIMT_INLINE float cyl_bessel_i1f(float x) { return static_cast<float>(cyl_bessel_i1(x)); }
