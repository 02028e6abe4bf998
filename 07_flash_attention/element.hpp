// What Q, K, V and O are made of, float, __nv_bfloat16 or __half: what each type is called, how
// finely it rounds, and how far it reaches.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>

namespace attention {

// kUnit: the most that rounding a number may change, as a part of it. kTiny: the most that rounding
// changes where the exponent can fall no further (half of the smallest number above 0); a weight
// below that is lost. kLargest: what is larger rounds to infinity.
template <class T>
struct Element;

template <>
struct Element<float> {
  static constexpr const char *name = "fp32", *problem = "attention";
  static constexpr double kUnit = 0x1p-24, kTiny = 0x1p-150, kLargest = 0x1.fffffep127;
};

template <>
struct Element<__nv_bfloat16> {  // 8 significant bits, the exponent of fp32
  static constexpr const char *name = "bf16", *problem = "attention_bf16";
  static constexpr double kUnit = 0x1p-8, kTiny = 0x1p-134, kLargest = 0x1.fep127;
};

template <>
struct Element<__half> {  // 11 significant bits, powers of two from -14 to 15
  static constexpr const char *name = "fp16", *problem = "attention_fp16";
  static constexpr double kUnit = 0x1p-11, kTiny = 0x1p-25, kLargest = 65504;
};

inline double to_double(float x) { return x; }
inline double to_double(__nv_bfloat16 x) { return __bfloat162float(x); }
inline double to_double(__half x) { return __half2float(x); }

template <class T>
double rounded_to(double x) {
  return to_double(T(static_cast<float>(x)));
}

// What the fp32 roundings of a sum of n terms may cost, relative to a sum of at most 1: a unit each
// at most, and kDeviations sqrt(n) units if they have random signs (Hoeffding's inequality; 9.22
// squared is 85: not once in a lifetime).
constexpr double kFp32Unit = Element<float>::kUnit, kDeviations = 9.22;
inline double rounding_of_sum(double n) {
  return std::min(n, kDeviations * std::sqrt(n)) * kFp32Unit;
}

}  // namespace attention
