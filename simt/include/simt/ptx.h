// What inline PTX becomes: the front end (frontend/ptx_instructions.py) turns each instruction into
// a call of a function in these headers. Here: registers, and the instructions of one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "simt/atomics.h"
#include "simt/build_mode.h"
#include "simt/math.h"
#include "simt/shared.h"
#include "simt/small_float.h"
#include "simt/state.h"
#include "simt/sync.h"
#include "simt/warp.h"

namespace simt {
namespace ptx {

// ---- registers: bits without a type; every instruction says what it takes them for --------------

// One or two small floats, with the chip's arithmetic: computed exactly, rounded once.
struct f16 {
  uint16_t bits;
  SIMT_UNWATCHED operator float() const { return float_from_half_bits(bits); }
  SIMT_UNWATCHED static f16 rounded(double x) { return {half_bits_from_float(round_to_odd(x))}; }
};
struct bf16 {
  uint16_t bits;
  SIMT_UNWATCHED operator float() const { return float_from_bfloat16_bits(bits); }
  SIMT_UNWATCHED static bf16 rounded(double x) {
    return {bfloat16_bits_from_float(round_to_odd(x))};
  }
};
template <class T>
struct Pair {
  T low, high;
};
using f16x2 = Pair<f16>;
using bf16x2 = Pair<bf16>;
using s16x2 = Pair<int16_t>;
using u16x2 = Pair<uint16_t>;

template <class T>
constexpr bool is_small = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class T>
constexpr bool is_pair = std::is_same_v<T, f16x2> || std::is_same_v<T, bf16x2> ||
                         std::is_same_v<T, s16x2> || std::is_same_v<T, u16x2>;

// The register's lower bits as a T.
template <class T, class From>
SIMT_INLINE T as(const From& value) {
  if constexpr (std::is_same_v<T, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, bool> || std::is_same_v<T, bool>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_integral_v<From> && std::is_integral_v<T> &&
                       sizeof(T) > sizeof(From)) {
    return static_cast<T>(value);
  } else {
    static_assert(sizeof(T) <= sizeof(From), "the register is too narrow for this instruction");
    T result;
    memcpy(static_cast<void*>(&result), &value, sizeof(T));
    return result;
  }
}

// The value as it is put into a register of this type.
template <class To, class From, class Plain = std::remove_cv_t<std::remove_reference_t<To>>>
SIMT_INLINE Plain to(const From& value) {
  if constexpr (std::is_pointer_v<Plain>) {
    return reinterpret_cast<Plain>(as<unsigned long long>(value));
  } else if constexpr (std::is_enum_v<Plain>) {
    return static_cast<Plain>(value);
  } else if constexpr (std::is_integral_v<Plain> && std::is_integral_v<From>) {
    return static_cast<Plain>(value);
  } else if constexpr (sizeof(Plain) > sizeof(From)) {
    // A register may be wider than what is loaded into it.
    Plain result{};
    memcpy(static_cast<void*>(&result), &value, sizeof(From));
    return result;
  } else {
    return as<Plain>(value);
  }
}

template <class Bits>
constexpr Bits float_bits(Bits bits) {
  return bits;
}
template <class T, class From>
constexpr T literal(From value) {
  if constexpr (is_small<T>) {
    return T::rounded(static_cast<double>(value));
  } else if constexpr (is_pair<T>) {
    return as<T>(static_cast<unsigned>(value));
  } else {
    return static_cast<T>(value);
  }
}

// The operands of an asm statement, by the letter of their constraint.
template <class Register, class T>
SIMT_INLINE Register input(const T& value) {
  if constexpr (std::is_pointer_v<std::decay_t<T>>) {
    return static_cast<Register>(reinterpret_cast<unsigned long long>(value));
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    return static_cast<Register>(value);
  } else {
    return as<Register>(value);
  }
}
template <class T>
SIMT_INLINE unsigned short input_h(const T& value) {
  return input<unsigned short>(value);
}
template <class T>
SIMT_INLINE unsigned input_r(const T& value) {
  return input<unsigned>(value);
}
template <class T>
SIMT_INLINE unsigned long long input_l(const T& value) {
  return input<unsigned long long>(value);
}
template <class T>
SIMT_INLINE float input_f(const T& value) {
  return input<float>(value);
}
template <class T>
SIMT_INLINE double input_d(const T& value) {
  return input<double>(value);
}
template <class T>
SIMT_INLINE unsigned __int128 input_q(const T& value) {
  return input<unsigned __int128>(value);
}
template <class T>
SIMT_INLINE long long input_n(const T& value) {
  return static_cast<long long>(value);
}
// Where the variable behind an operand lies, for the checks. Declared: decltype of the operand, a
// reference for an element of an array or a variable elsewhere. A parameter that was handed over by
// value is only a copy of the register that the program means.
template <class Declared, class T>
SIMT_INLINE const void* place_of(const T& variable) {
  constexpr bool kFound = SIMT_INSTRUMENTED && std::is_lvalue_reference_v<Declared>;
  return kFound && sizeof(T) == sizeof(unsigned) ? &variable : nullptr;
}

// ---- arithmetic ---------------------------------------------------------------------------------

// One operation on small floats, pairs of them, or the rest.
#define SIMT_PTX_BINARY(name, expression)                          \
  template <class T>                                               \
  SIMT_INLINE T name(T a, T b) {                                   \
    if constexpr (is_pair<T>) {                                    \
      return {name(a.low, b.low), name(a.high, b.high)};           \
    } else if constexpr (is_small<T>) {                            \
      return T::rounded(name(double(float(a)), double(float(b)))); \
    } else {                                                       \
      return expression;                                           \
    }                                                              \
  }
template <class T>
using Unsigned = typename std::make_unsigned<T>::type;
template <class T>
SIMT_INLINE T wrapped_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
  } else {
    return a + b;
  }
}
template <class T>
SIMT_INLINE T wrapped_difference(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
  } else {
    return a - b;
  }
}
template <class T>
SIMT_INLINE T least(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return b < a ? b : a;
  } else {
    return lesser(a, b);
  }
}
template <class T>
SIMT_INLINE T greatest(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a < b ? b : a;
  } else {
    return greater(a, b);
  }
}
SIMT_PTX_BINARY(mul, (a * b))
SIMT_PTX_BINARY(min, least(a, b))
SIMT_PTX_BINARY(max, greatest(a, b))
SIMT_PTX_BINARY(min_nan, (a != a ? a : b != b ? b : least(a, b)))
SIMT_PTX_BINARY(max_nan, (a != a ? a : b != b ? b : greatest(a, b)))
#undef SIMT_PTX_BINARY
template <class T>
SIMT_INLINE T add(T a, T b) {
  if constexpr (is_pair<T>) {
    return {add(a.low, b.low), add(a.high, b.high)};
  } else if constexpr (is_small<T>) {
    return T::rounded(sum_to_odd(float(a), float(b)));
  } else {
    return wrapped_sum(a, b);
  }
}
template <class T>
SIMT_INLINE T sub(T a, T b) {
  if constexpr (is_pair<T>) {
    return {sub(a.low, b.low), sub(a.high, b.high)};
  } else if constexpr (is_small<T>) {
    return T::rounded(sum_to_odd(float(a), -float(b)));
  } else {
    return wrapped_difference(a, b);
  }
}
template <class T>
SIMT_INLINE T div(T a, T b) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    if (b == -1) return wrapped_difference(T(0), a);  // which stops an x86 for the least number
  return static_cast<T>(a / b);
}

template <class T>
SIMT_INLINE T fma(T a, T b, T c) {
  if constexpr (is_pair<T>) {
    return {fma(a.low, b.low, c.low), fma(a.high, b.high, c.high)};
  } else if constexpr (is_small<T>) {
    // The product of two small floats is exact in double.
    return T::rounded(sum_to_odd(double(float(a)) * double(float(b)), float(c)));
  } else {
    return std::fma(a, b, c);
  }
}
// In another rounding mode, of float and double.
#define SIMT_PTX_DIRECTED_FUNCTION(name, function, parameters, arguments) \
  template <class T>                                                      \
  SIMT_INLINE T name parameters {                                         \
    if constexpr (std::is_same_v<T, double>) {                            \
      return __d##function arguments;                                     \
    } else {                                                              \
      return __f##function arguments;                                     \
    }                                                                     \
  }
#define SIMT_PTX_DIRECTED(mode, suffix)                                    \
  SIMT_PTX_DIRECTED_FUNCTION(add_##mode, add_##suffix, (T a, T b), (a, b)) \
  SIMT_PTX_DIRECTED_FUNCTION(sub_##mode, sub_##suffix, (T a, T b), (a, b)) \
  SIMT_PTX_DIRECTED_FUNCTION(mul_##mode, mul_##suffix, (T a, T b), (a, b)) \
  SIMT_PTX_DIRECTED_FUNCTION(div_##mode, div_##suffix, (T a, T b), (a, b)) \
  SIMT_PTX_DIRECTED_FUNCTION(sqrt_##mode, sqrt_##suffix, (T a), (a))       \
  SIMT_PTX_DIRECTED_FUNCTION(rcp_##mode, rcp_##suffix, (T a), (a))         \
  template <class T>                                                       \
  SIMT_INLINE T fma_##mode(T a, T b, T c) {                                \
    if constexpr (std::is_same_v<T, double>) {                             \
      return __fma_##suffix(a, b, c);                                      \
    } else {                                                               \
      return __fmaf_##suffix(a, b, c);                                     \
    }                                                                      \
  }
SIMT_PTX_DIRECTED(rz, rz)
SIMT_PTX_DIRECTED(rm, rd)
SIMT_PTX_DIRECTED(rp, ru)
#undef SIMT_PTX_DIRECTED_FUNCTION
#undef SIMT_PTX_DIRECTED

template <class T>
SIMT_INLINE T rem(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return T(0);
  return static_cast<T>(a % b);
}
template <class T>
SIMT_INLINE T neg(T a) {
  if constexpr (is_pair<T>) {
    return {neg(a.low), neg(a.high)};
  } else if constexpr (is_small<T>) {
    return float(a) != float(a) ? T{0x7fff} : T{static_cast<uint16_t>(a.bits ^ 0x8000)};
  } else if constexpr (std::is_integral_v<T>) {
    return wrapped_difference(T(0), a);
  } else {
    return -a;
  }
}
template <class T>
SIMT_INLINE T abs(T a) {
  if constexpr (is_pair<T>) {
    return {abs(a.low), abs(a.high)};
  } else if constexpr (is_small<T>) {
    return float(a) != float(a) ? T{0x7fff} : T{static_cast<uint16_t>(a.bits & 0x7fff)};
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::fabs(a);
  } else {
    return a < 0 ? wrapped_difference(T(0), a) : a;
  }
}
template <class T>
SIMT_INLINE T and_(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
SIMT_INLINE T or_(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
SIMT_INLINE T xor_(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
SIMT_INLINE T not_(T a) {
  if constexpr (std::is_same_v<T, bool>) {
    return !a;
  } else {
    return static_cast<T>(~a);
  }
}
template <class T>
SIMT_INLINE T cnot(T a) {
  return static_cast<T>(a == 0);
}
template <class T>
SIMT_INLINE T copysign(T a, T b) {
  return std::copysign(b, a);
}
template <class T>
SIMT_INLINE T sad(T a, T b, T c) {
  return wrapped_sum(c, a < b ? wrapped_difference(b, a) : wrapped_difference(a, b));
}
template <class T>
SIMT_INLINE T add_sat(T a, T b) {
  T sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}
template <class T>
SIMT_INLINE T sub_sat(T a, T b) {
  T difference;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b > 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}
template <class T>
SIMT_INLINE T mul_lo(T a, T b) {
  return static_cast<T>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
}
template <class T>
SIMT_INLINE T mul_hi(T a, T b) {
  return static_cast<T>(static_cast<__int128>(a) * static_cast<__int128>(b) >> (8 * sizeof(T)));
}
// mul24: the lower 24 bits of both; of the product's 48 bits the lower or the upper 32.
template <class T>
SIMT_INLINE T mul24(T a, T b, bool upper) {
  const auto part = [](T x) SIMT_UNWATCHED { return int64_t(static_cast<T>(x << 8) >> 8); };
  return static_cast<T>((part(a) * part(b)) >> (upper ? 16 : 0));
}
template <class T>
SIMT_INLINE T shl(T a, unsigned by) {
  return by >= 8 * sizeof(T) ? T(0) : static_cast<T>(static_cast<Unsigned<T>>(a) << by);
}
template <class T>
SIMT_INLINE T shr(T a, unsigned by) {
  if (by >= 8 * sizeof(T)) return a < 0 ? T(-1) : T(0);
  return static_cast<T>(a >> by);
}

// Subnormal numbers become zero.
template <class T>
SIMT_INLINE T flushed(T x) {
  if constexpr (is_pair<T>) {
    return {flushed(x.low), flushed(x.high)};
  } else if constexpr (std::is_same_v<T, f16>) {
    return {static_cast<uint16_t>((x.bits & 0x7c00) == 0 ? x.bits & 0x8000 : x.bits)};
  } else {
    return std::fabs(x) < 0x1p-126f ? std::copysign(T(0), x) : x;
  }
}
// Is the number too small for a normal one of kBits bits of which kLeast is the least, although it
// rounds to kLeast? If the rounded one would be less with an exponent that has no end.
template <int kBits>
SIMT_INLINE bool rounds_up_to_normal(double exact, double least, bool directed) {
  const double below = least * (1 - std::ldexp(1.0, directed ? -kBits : -kBits - 1));
  return directed ? std::fabs(exact) <= below : std::fabs(exact) < below;
}
// The same for the result of a product (plus c).
template <class T>
SIMT_INLINE T flushed_product(bool directed, T result, T a, T b, T c = T{}) {
  if constexpr (is_pair<T>) {
    return {flushed_product(directed, result.low, a.low, b.low, c.low),
            flushed_product(directed, result.high, a.high, b.high, c.high)};
  } else if constexpr (std::is_same_v<T, double>) {
    return result;
  } else {
    constexpr bool kHalf = std::is_same_v<T, f16>;
    constexpr double kLeast = kHalf ? 0x1p-14 : 0x1p-126;
    if (std::fabs(float(result)) == kLeast) {
      const double exact = sum_to_odd(double(float(a)) * double(float(b)), float(c));
      if (rounds_up_to_normal < kHalf ? 11 : 24 > (exact, kLeast, directed))
        return mul(result, T{});
    }
    return flushed(result);
  }
}
// And of a double that is to become a float.
SIMT_INLINE double flushed_to_float(double x) {
  return rounds_up_to_normal<24>(x, 0x1p-126, false) ? std::copysign(0.0, x) : x;
}
template <class T>
SIMT_INLINE T relu(T x) {
  if constexpr (is_pair<T>) {
    return {relu(x.low), relu(x.high)};
  } else if constexpr (is_small<T>) {
    return float(x) > 0 || float(x) != float(x) ? x : T{0};
  } else {
    return x > 0 || x != x ? x : T(0);
  }
}
template <class T>
SIMT_INLINE T saturated(T x) {
  if constexpr (is_pair<T>) {
    return {saturated(x.low), saturated(x.high)};
  } else if constexpr (is_small<T>) {
    return float(x) > 1 ? T::rounded(1) : float(x) > 0 ? x : T{0};
  } else {
    return x > 1 ? T(1) : x > 0 ? x : T(0);
  }
}

#define SIMT_PTX_FUNCTION(name, expression) \
  template <class T>                        \
  SIMT_INLINE T name(T a) {                 \
    if constexpr (is_pair<T>) {             \
      return {name(a.low), name(a.high)};   \
    } else if constexpr (is_small<T>) {     \
      const double x = float(a);            \
      return T::rounded(expression);        \
    } else {                                \
      const double x = a;                   \
      return static_cast<T>(expression);    \
    }                                       \
  }
SIMT_PTX_FUNCTION(ex2, std::exp2(x))
SIMT_PTX_FUNCTION(lg2, std::log2(x))
SIMT_PTX_FUNCTION(sin, std::sin(x))
SIMT_PTX_FUNCTION(cos, std::cos(x))
SIMT_PTX_FUNCTION(tanh, std::tanh(x))
SIMT_PTX_FUNCTION(rcp, 1 / x)
SIMT_PTX_FUNCTION(rsqrt, 1 / std::sqrt(x))
SIMT_PTX_FUNCTION(sqrt, std::sqrt(x))
#undef SIMT_PTX_FUNCTION
// In float, where the chip has it in hardware too: softmax calls it for every element.
template <>
SIMT_INLINE float ex2<float>(float a) {
  return ::exp2f(a);
}

// ---- bits ---------------------------------------------------------------------------------------

template <class T>
SIMT_INLINE unsigned popc(T a) {
  return static_cast<unsigned>(__builtin_popcountll(static_cast<Unsigned<T>>(a)));
}
template <class T>
SIMT_INLINE unsigned clz(T a) {
  return a == 0 ? unsigned(8 * sizeof(T))
                : static_cast<unsigned>(__builtin_clzll(static_cast<Unsigned<T>>(a))) -
                      unsigned(64 - 8 * sizeof(T));
}
template <class T>
SIMT_INLINE T brev(T a) {
  return static_cast<T>(__brevll(static_cast<Unsigned<T>>(a)) >> (64 - 8 * sizeof(T)));
}
template <class T>
SIMT_INLINE unsigned bfind(T a) {
  const Unsigned<T> bits = static_cast<Unsigned<T>>(a < 0 ? ~a : a);
  return bits == 0 ? 0xffffffffu : unsigned(8 * sizeof(T)) - 1 - clz<Unsigned<T>>(bits);
}
template <class T>
SIMT_INLINE unsigned bfind_shift(T a) {
  const unsigned found = bfind(a);
  return found == 0xffffffffu ? found : unsigned(8 * sizeof(T)) - 1 - found;
}
template <class T>
SIMT_INLINE T bfe(T a, unsigned start32, unsigned length32) {
  // Of 32 bits the lower 8 of each count, of 64 bits all.
  const uint64_t start = sizeof(T) == 4 ? start32 & 255 : start32;
  const uint64_t length = sizeof(T) == 4 ? length32 & 255 : length32;
  constexpr unsigned kBits = 8 * sizeof(T);
  const unsigned last = static_cast<unsigned>(std::min<uint64_t>(start + length - 1, kBits - 1));
  const bool sign = std::is_signed_v<T> && length != 0 && (shr<T>(a, last) & 1);
  Unsigned<T> result = 0;
  for (unsigned i = 0; i < kBits; ++i) {
    const bool inside = i < length && start + i < kBits;
    const bool bit = inside ? shr<T>(a, static_cast<unsigned>(start) + i) & 1 : sign;
    result |= static_cast<Unsigned<T>>(bit) << i;
  }
  return static_cast<T>(result);
}
template <class T>
SIMT_INLINE T bfi(T a, T b, unsigned start32, unsigned length32) {
  const uint64_t start = sizeof(T) == 4 ? start32 & 255 : start32;
  const uint64_t length = sizeof(T) == 4 ? length32 & 255 : length32;
  T result = b;
  for (unsigned i = 0; i < length && start + i < 8 * sizeof(T); ++i) {
    const T bit = T(1) << (start + i);
    result = static_cast<T>((result & ~bit) | ((a >> i & 1) ? bit : T(0)));
  }
  return result;
}
SIMT_INLINE unsigned lop3(unsigned a, unsigned b, unsigned c, unsigned table) {
  unsigned result = 0;
  for (unsigned row = 0; row < 8; ++row)
    if (table >> row & 1) result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
  return result;
}
SIMT_INLINE unsigned prmt(unsigned a, unsigned b, unsigned selector) {
  const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned choice = selector >> (4 * i) & 15;
    unsigned byte = bytes >> (8 * (choice & 7)) & 255;
    if (choice & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}
SIMT_INLINE unsigned funnel_l(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>(((static_cast<uint64_t>(high) << 32 | low) << by) >> 32);
}
SIMT_INLINE unsigned funnel_r(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> by);
}
template <class First, class Second>
SIMT_INLINE unsigned dp4a(unsigned a, unsigned b, unsigned c) {
  for (unsigned i = 0; i < 4; ++i)
    c += static_cast<unsigned>(int(static_cast<First>(a >> (8 * i))) *
                               int(static_cast<Second>(b >> (8 * i))));
  return c;
}

// ---- comparing ----------------------------------------------------------------------------------

template <class T>
SIMT_INLINE bool nan(T a, T b) {
  return a != a || b != b;
}
template <class T>
SIMT_INLINE bool num(T a, T b) {
  return !nan(a, b);
}
template <class T>
SIMT_INLINE T true_of() {
  if constexpr (std::is_floating_point_v<T>) {
    return T(1);
  } else if constexpr (is_small<T>) {
    return {1};  // the number 1 of an integer, on an H200
  } else {
    return static_cast<T>(~T{});
  }
}
template <class T>
SIMT_INLINE bool testp_finite(T a) {
  return std::isfinite(a);
}
template <class T>
SIMT_INLINE bool testp_infinite(T a) {
  return std::isinf(a);
}
template <class T>
SIMT_INLINE bool testp_number(T a) {
  return a == a;
}
template <class T>
SIMT_INLINE bool testp_notanumber(T a) {
  return a != a;
}
template <class T>
SIMT_INLINE bool testp_normal(T a) {
  return std::isnormal(a) || a == 0;
}
template <class T>
SIMT_INLINE bool testp_subnormal(T a) {
  return std::fpclassify(a) == FP_SUBNORMAL;
}

// ---- converting ---------------------------------------------------------------------------------

enum class Round { none, rn, rz, rm, rp, rna, rni, rzi, rmi, rpi };

template <Round round, class T>
SIMT_INLINE T to_whole(T x) {
  if constexpr (round == Round::rni) return std::nearbyint(x);
  if constexpr (round == Round::rmi) return std::floor(x);
  if constexpr (round == Round::rpi) return std::ceil(x);
  return std::trunc(x);
}

// f32 or f64 to f16 or bf16.
template <class T, Round round>
SIMT_INLINE T narrowed(double x) {
  T nearest = T::rounded(x);
  if (x != x) return nearest;
  if constexpr (round != Round::rn) {
    // The number whose bits are one more or less is the next one away from zero or toward it.
    const double away = double(float(nearest)) - x;
    const bool negative = nearest.bits >> 15;
    const bool too_high = away > 0 && (round == Round::rm || (round == Round::rz && !negative));
    const bool too_low = away < 0 && (round == Round::rp || (round == Round::rz && negative));
    if (too_high) nearest.bits += negative ? 1 : -1;
    if (too_low) nearest.bits += negative ? -1 : 1;
  }
  return nearest;
}
// The same for a conversion, which keeps of a NaN of type double its sign and first bits.
template <class T, Round round, class From>
SIMT_INLINE T narrowed_from(From x) {
  if (sizeof(From) == 8 && x != x) return {narrowed_nan(x, std::is_same_v<T, f16> ? 10 : 7)};
  return narrowed<T, round>(x);
}
template <class T>
SIMT_INLINE Pair<T> pair(T high, T low) {
  return {low, high};
}
template <class T>
SIMT_INLINE float upper(Pair<T> p) {
  return float(p.high);
}
template <class T>
SIMT_INLINE float lower(Pair<T> p) {
  return float(p.low);
}

template <Round round>
SIMT_INLINE float to_tf32(float x) {
  uint32_t bits = bits_as<uint32_t>(x);
  const bool is_number = (bits & 0x7f800000) != 0x7f800000;
  if (x != x && round != Round::rna) return bits_as<float>(0x7fffe000u);
  if constexpr (round == Round::rna) bits += is_number ? 0x1000 : 0;
  if constexpr (round == Round::rn) bits += is_number ? 0xfff + (bits >> 13 & 1) : 0;
  return bits_as<float>(bits & ~0x1fffu);
}

// An integer to float or double, in a rounding mode.
template <class To, Round round, class From>
SIMT_INLINE To from_integer(From value) {
  constexpr int kMode = round == Round::rz   ? FE_TOWARDZERO
                        : round == Round::rm ? FE_DOWNWARD
                        : round == Round::rp ? FE_UPWARD
                                             : FE_TONEAREST;
  if constexpr (kMode == FE_TONEAREST) {
    return static_cast<To>(value);
  } else {
    const Rounding rounding(kMode);
    return now(static_cast<To>(now(value)));
  }
}
// The same for a double that becomes a float.
template <Round round>
SIMT_INLINE float to_float(double value) {
  if constexpr (round == Round::rz) return toward_zero(value);
  if constexpr (round == Round::rm) return downward(value);
  if constexpr (round == Round::rp) return upward(value);
  return static_cast<float>(value);
}
// A 64-bit number to an even smaller float: as a double that is odd unless it is exact.
template <class From>
SIMT_INLINE double integer_to_odd(From value) {
  const double whole = from_integer<double, Round::rz>(value);
  const bool exact = static_cast<__int128>(whole) == static_cast<__int128>(value);
  return exact ? whole : bits_as<double>(bits_as<uint64_t>(whole) | 1);
}

template <class To, Round round, bool saturate, class From>
SIMT_INLINE To convert(From value) {
  if constexpr (is_small<From>) {
    return convert<To, round, saturate>(float(value));
  } else if constexpr (is_small<To>) {
    if constexpr (round >= Round::rni) {
      return To::rounded(to_whole<round>(double(value)));
    } else if constexpr (std::is_integral_v<From>) {
      return narrowed<To, round>(integer_to_odd(value));
    } else {
      return narrowed_from < To, round == Round::none ? Round::rn : round > (value);
    }
  } else if constexpr (std::is_floating_point_v<From> && std::is_floating_point_v<To>) {
    To result;
    if constexpr (round >= Round::rni) {
      result = static_cast<To>(to_whole<round>(value));
    } else if constexpr (sizeof(To) < sizeof(From)) {
      result = to_float<round>(value);
    } else {
      result = static_cast<To>(value);
    }
    return saturate ? saturated(result) : result;
  } else if constexpr (std::is_floating_point_v<From>) {
    return simt::saturated<To>(to_whole<round>(value));
  } else if constexpr (std::is_floating_point_v<To>) {
    const To result = from_integer<To, round>(value);
    return saturate ? saturated(result) : result;
  } else if constexpr (saturate) {
    const __int128 wide = value;
    if (wide < __int128(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (wide > __int128(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

// 8-bit floats: e4m3 has no infinity and reaches 448, e5m2 is the upper half of an f16.
unsigned char e4m3_from_float(float x);  // to nearest even, saturating
unsigned char e5m2_from_float(float x);
float float_from_e4m3(unsigned char bits);
float float_from_e5m2(unsigned char bits);

SIMT_INLINE unsigned short pack_e4m3(float high, float low, bool clamp_to_zero) {
  if (clamp_to_zero) high = relu(high), low = relu(low);
  return static_cast<unsigned short>(e4m3_from_float(high) << 8 | e4m3_from_float(low));
}
SIMT_INLINE unsigned short pack_e5m2(float high, float low, bool clamp_to_zero) {
  if (clamp_to_zero) high = relu(high), low = relu(low);
  return static_cast<unsigned short>(e5m2_from_float(high) << 8 | e5m2_from_float(low));
}
SIMT_INLINE f16x2 unpack_e4m3(unsigned short pair) {
  return {f16::rounded(float_from_e4m3(pair & 255)), f16::rounded(float_from_e4m3(pair >> 8))};
}
SIMT_INLINE f16x2 unpack_e5m2(unsigned short pair) {
  const auto one = [](unsigned bits) SIMT_UNWATCHED -> f16 {
    return {static_cast<uint16_t>((bits & 0x7fff) > 0x7c00 ? 0x7fff : bits)};
  };
  return {one(pair << 8 & 0xff00), one(pair & 0xff00)};
}

// ---- addresses ----------------------------------------------------------------------------------

SIMT_INLINE char* pointer(unsigned long long address) { return reinterpret_cast<char*>(address); }
SIMT_INLINE unsigned long long address_of(const void* pointer) {
  return reinterpret_cast<unsigned long long>(pointer);
}
SIMT_INLINE char* behind(void* pointer, unsigned bytes) {
  return static_cast<char*>(pointer) + bytes;
}

// A 32-bit address of shared memory: of the own block, or of a block of the cluster, whose rank + 1
// then stands in the upper 8 bits (mapa).
constexpr unsigned kRankShift = 24;
char* shared_of_rank(unsigned address, Location at);  // another block's
SIMT_INLINE char* shared_pointer(unsigned address, Location at = Location::here()) {
  return address >> kRankShift ? shared_of_rank(address, at) : state.shared + address;
}
// What an instruction takes for such an address. A generic pointer has more than 32 bits.
[[noreturn]] void refuse_generic_address(unsigned long long address, Location at);
template <class T>
SIMT_INLINE unsigned shared_offset_of(T operand, Location at = Location::here()) {
  const auto address = as<unsigned long long>(operand);
  if (sizeof(T) == 8 && address >> 32 != 0) refuse_generic_address(address, at);
  return static_cast<unsigned>(address);
}
unsigned shared_address(const void* pointer);
bool is_in_shared_cluster(const void* pointer);
SIMT_INLINE bool is_in_shared(const void* pointer) { return __isShared(pointer); }
SIMT_INLINE bool is_in_shared_cta(const void* pointer) { return __isShared(pointer); }
SIMT_INLINE bool is_in_global(const void* pointer) { return __isGlobal(pointer); }
SIMT_INLINE bool is_in_local(const void*) { return false; }
SIMT_INLINE bool is_in_const(const void*) { return false; }

// ---- loads, stores, atomics ---------------------------------------------------------------------

template <class T, size_t count>
SIMT_INLINE void load_weak(T (&values)[count], const void* address) {
  SIMT_NOTE(read, address, sizeof values);
  memcpy(values, address, sizeof values);
}
// Volatile, relaxed or acquire: what other threads change meanwhile is seen.
template <class T, size_t count>
SIMT_INLINE void load_strong(T (&values)[count], const void* address, Scope scope) {
  poll();
  SIMT_NOTE_ATOMIC(atomic_load, address, sizeof values, scope);
  for (size_t i = 0; i < count; ++i) {
    if constexpr (sizeof(T) <= 8) {
      values[i] = __atomic_load_n(static_cast<const T*>(address) + i, __ATOMIC_SEQ_CST);
    } else {
      memcpy(&values[i], static_cast<const T*>(address) + i, sizeof(T));
    }
  }
}
template <class T, size_t count>
SIMT_INLINE void store_weak(void* address, const T (&values)[count]) {
  SIMT_NOTE(write, address, sizeof values);
  memcpy(address, values, sizeof values);
}
template <class T, size_t count>
SIMT_INLINE void store_strong(void* address, const T (&values)[count], Scope scope) {
  SIMT_NOTE_ATOMIC(atomic_store, address, sizeof values, scope);
  for (size_t i = 0; i < count; ++i) {
    if constexpr (sizeof(T) <= 8) {
      __atomic_store_n(static_cast<T*>(address) + i, values[i], __ATOMIC_SEQ_CST);
    } else {
      memcpy(static_cast<T*>(address) + i, &values[i], sizeof(T));
    }
  }
}
SIMT_INLINE void acquired(Scope scope) {
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  SIMT_NOTE_ACQUIRE(scope);
}
SIMT_INLINE void released(Scope scope) {
  SIMT_NOTE_RELEASE(scope);
  __atomic_thread_fence(__ATOMIC_RELEASE);
}

template <class T>
SIMT_INLINE T atomic_total(const void* address, T old, T value) {
  if constexpr (std::is_same_v<T, float>) {
    return atomic_sum(address, old, value);
  } else {
    return add<T>(old, value);
  }
}

// atomic_update for pairs and small floats, too: they are their bits.
#define SIMT_PTX_ATOMIC(name, expression)                                           \
  template <class T>                                                                \
  SIMT_INLINE T atomic_##name(Scope scope, void* address, T value) {                \
    SIMT_NOTE_ATOMIC(atomic, address, sizeof(T), scope);                            \
    return atomic_update(static_cast<T*>(address), [&](T old) SIMT_UNWATCHED -> T { \
      (void)old;                                                                    \
      return expression;                                                            \
    });                                                                             \
  }
SIMT_PTX_ATOMIC(add, (atomic_total<T>(address, old, value)))
SIMT_PTX_ATOMIC(min, min<T>(old, value))
SIMT_PTX_ATOMIC(max, max<T>(old, value))
SIMT_PTX_ATOMIC(and_, and_<T>(old, value))
SIMT_PTX_ATOMIC(or_, or_<T>(old, value))
SIMT_PTX_ATOMIC(xor_, xor_<T>(old, value))
SIMT_PTX_ATOMIC(exch, value)
SIMT_PTX_ATOMIC(inc, (old >= value ? T{} : static_cast<T>(old + 1)))
SIMT_PTX_ATOMIC(dec, (old == T{} || old > value ? value : static_cast<T>(old - 1)))
#undef SIMT_PTX_ATOMIC
template <class T>
SIMT_INLINE T atomic_cas(Scope scope, void* address, T compare, T value) {
  SIMT_NOTE_ATOMIC(atomic_cas, address, sizeof(T), scope);
  return atomic_update(static_cast<T*>(address),
                       [&](T old) SIMT_UNWATCHED -> T { return old == compare ? value : old; });
}

// ---- special registers --------------------------------------------------------------------------

unsigned multiprocessor();
unsigned multiprocessors();
unsigned long long clock();
unsigned long long nanoseconds();
unsigned dynamic_shared_bytes();
unsigned total_shared_bytes();
void set_max_registers(unsigned count, bool more, Location at = Location::here());

// ---- warps --------------------------------------------------------------------------------------

struct Shuffled {
  unsigned value;
  bool inside;  // the source lane lay within the segment
};
// clamp: the last lane of the segment (or the first, for up) in bits 0-4, the mask of the segment
// in bits 8-12.
SIMT_INLINE Shuffled shfl_from(unsigned mask, unsigned value, unsigned source, bool inside,
                               Location at) {
  return {shuffle("shfl.sync", mask, value, inside ? source : state.lane, at), inside};
}
SIMT_INLINE Shuffled shfl_idx(unsigned value, unsigned b, unsigned c, unsigned mask,
                              Location at = Location::here()) {
  const unsigned segment = c >> 8 & 31, first = state.lane & segment;
  const unsigned source = first | (b & 31 & ~segment), last = first | (c & 31 & ~segment);
  return shfl_from(mask, value, source, source <= last, at);
}
SIMT_INLINE Shuffled shfl_up(unsigned value, unsigned b, unsigned c, unsigned mask,
                             Location at = Location::here()) {
  const unsigned segment = c >> 8 & 31, last = (state.lane & segment) | (c & 31 & ~segment);
  const int source = int(state.lane) - int(b & 31);
  return shfl_from(mask, value, unsigned(source), source >= int(last), at);
}
SIMT_INLINE Shuffled shfl_down(unsigned value, unsigned b, unsigned c, unsigned mask,
                               Location at = Location::here()) {
  const unsigned segment = c >> 8 & 31, last = (state.lane & segment) | (c & 31 & ~segment);
  const unsigned source = state.lane + (b & 31);
  return shfl_from(mask, value, source, source <= last, at);
}
SIMT_INLINE Shuffled shfl_bfly(unsigned value, unsigned b, unsigned c, unsigned mask,
                               Location at = Location::here()) {
  const unsigned segment = c >> 8 & 31, last = (state.lane & segment) | (c & 31 & ~segment);
  const unsigned source = state.lane ^ (b & 31);
  return shfl_from(mask, value, source, source <= last, at);
}

// The lowest lane of the mask, after all of them have come.
SIMT_INLINE unsigned elect(unsigned mask, Location at = Location::here()) {
  const unsigned lanes = ballot("elect.sync", mask, true, at);
  return static_cast<unsigned>(__builtin_ctz(lanes));
}

}  // namespace ptx
}  // namespace simt

#include "simt/ptx_async.h"
#include "simt/ptx_integer.h"
#include "simt/ptx_matrix.h"
