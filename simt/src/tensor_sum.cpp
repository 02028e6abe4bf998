#include "tensor_sum.h"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace simt {
namespace {

constexpr int kMostK = 32, kMostRows = 64, kMostColumns = 256;

// How an instruction sums.
struct TensorSum {
  enum class Result { f32, f32_of_13_bits, f16 };
  int products;
  int fraction_bits;
  int least_a, least_b;  // exponents of the least normal numbers of A and B
  int floor;
  Result result;
};

// Exponents beside those of numbers.
constexpr int kNone = -4000;       // of zero
constexpr int kNotFinite = 8000;   // of infinity and NaN
constexpr int kMostFinite = 100;   // above: too large for the fast way
constexpr int kLeastFinite = -90;  // below: the result might be subnormal

template <class To, class From>
To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

int exponent_of(float value, int least) {
  if (value == 0) return kNone;
  const int field = int(bits_as<uint32_t>(value) >> 23 & 255);
  return field == 255 ? kNotFinite : std::max(field - 127, least);
}

int least_c(const TensorSum& sum) { return sum.result == TensorSum::Result::f16 ? -14 : -126; }

// ---- one element, step by step ------------------------------------------------------------------

// Toward zero, to `bits` bits of fraction.
float cut_off(double value, int bits) {
  int exponent;
  std::frexp(value, &exponent);  // |value| in [2^(exponent - 1), 2^exponent)
  const int unit = std::max(exponent - 1, -126) - bits;
  return static_cast<float>(std::ldexp(std::trunc(std::ldexp(value, -unit)), unit) + 0.0);
}

float nearest_half(double value) {
  if (value == 0 || std::isnan(value)) return static_cast<float>(value);
  int exponent;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent - 1, -14) - 10;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit) + 0.0;
  return static_cast<float>(std::fabs(rounded) < 65536 ? rounded
                                                       : std::copysign(INFINITY, rounded));
}

// The k-th factors are a[k * a_length] and b[k * b_length].
float add_products_of_one(const TensorSum& sum, int k, const float* a, int a_length, const float* b,
                          int b_length, float c) {
  double all = c;  // only asked whether it is finite: products are exact and do not overflow
  int top = std::max(exponent_of(c, least_c(sum)), sum.floor);
  for (int i = 0; i < k; ++i) {
    const float x = a[i * a_length], y = b[i * b_length];
    all += double(x) * double(y);
    top = std::max(top, exponent_of(x, sum.least_a) + exponent_of(y, sum.least_b));
  }
  if (std::isnan(all)) return bits_as<float>(0x7fffffffu);
  if (std::isinf(all)) return static_cast<float>(all);
  const int unit = top - sum.fraction_bits;
  double units = std::trunc(std::ldexp(double(c), -unit));
  for (int i = 0; i < k; ++i)
    units += std::trunc(std::ldexp(double(a[i * a_length]) * double(b[i * b_length]), -unit));
  if (units == 0) return 0.0f;
  const double value = std::ldexp(units, unit);
  switch (sum.result) {
    case TensorSum::Result::f16: return nearest_half(value);
    case TensorSum::Result::f32_of_13_bits: return cut_off(value, 13);
    default: return cut_off(value, 23);
  }
}

// ---- the fast way, a row at a time --------------------------------------------------------------
//
// Rows of A and columns of B are scaled so that the exponent of their largest element is zero. Of
// each element a byte is kept for its exponent: a sum of two bytes is the exponent of a product.

constexpr int kRange = 50;              // smaller elements, by 2^kRange, are taken for zero
constexpr int kOfTop = 2 * kRange + 1;  // the byte of the largest; kRange less is the least
constexpr int kLeastOfProduct = 2 * (kOfTop - kRange);  // more than a zero and any other

struct Scaled {  // a row of A or a column of B is a column here
  alignas(64) float value[kMostK][kMostColumns];
  alignas(64) uint8_t exponent[kMostK][kMostColumns];
  alignas(64) int32_t top[kMostColumns];
  alignas(64) int32_t is_cut[kMostColumns];   // an element was taken for zero
  alignas(64) int32_t is_left[kMostColumns];  // not for the fast way
};

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#if __GNUC__ >= 12
#define SIMT_WIDE "arch=x86-64-v4"
#else
#define SIMT_WIDE "avx512f"
#endif
#define SIMT_VECTORS \
  __attribute__((noinline, target_clones(SIMT_WIDE, "avx2", "default"), optimize("O3")))
#elif defined(__GNUC__) && !defined(__clang__)
#define SIMT_VECTORS __attribute__((noinline, optimize("O3")))
#else
#define SIMT_VECTORS __attribute__((noinline))
#endif

// 2^exponent, the exponent brought into what a float can hold.
inline float near_power_of_two(int exponent) {
  return bits_as<float>((std::min(std::max(exponent, -126), 127) + 127) << 23);
}

// condition ? one : other, of which both are computed; condition is 0 or 1.
inline float either(int condition, float one, float other) {
  return bits_as<float>((bits_as<int32_t>(one) & -condition) |
                        (bits_as<int32_t>(other) & (condition - 1)));
}

// For loops over bytes, which may do more than they must.
inline int with_whole_vectors(int columns) { return (columns + 63) & ~63; }

SIMT_VECTORS void scale(int least, int columns, int k, const float* from, int length, Scaled& to) {
  for (int n = 0; n < columns; ++n) to.top[n] = kNone, to.is_cut[n] = to.is_left[n] = 0;
  for (int i = 0; i < k; ++i) {
    const float* values = from + i * length;
    for (int n = 0; n < columns; ++n) {
      const int32_t bits = bits_as<int32_t>(values[n]) & INT32_MAX, field = bits >> 23;
      const int normal = field - 127 > least ? field - 127 : least;
      const int exponent = bits == 0 ? kNone : normal;
      to.top[n] = exponent > to.top[n] ? exponent : to.top[n];
    }
  }
  for (int n = 0; n < columns; ++n) {
    to.is_left[n] = to.top[n] >= 127;
    to.top[n] = to.top[n] < -126 ? 0 : to.top[n];
  }
  alignas(64) int32_t exponent[kMostColumns] = {};
  for (int i = 0; i < k; ++i) {
    const float* values = from + i * length;
    for (int n = 0; n < columns; ++n) {
      const int32_t bits = bits_as<int32_t>(values[n]) & INT32_MAX, field = bits >> 23;
      const int normal = field - 127 > least ? field - 127 : least;
      const int below = to.top[n] - normal;
      const int is_kept = (below <= kRange) & (bits != 0);
      to.is_cut[n] |= (below > kRange) & (bits != 0);
      to.value[i][n] = either(is_kept, values[n] * near_power_of_two(-to.top[n]), 0.0f);
      exponent[n] = (kOfTop - below) & -is_kept;
    }
    for (int n = 0; n < with_whole_vectors(columns); ++n)
      to.exponent[i][n] = static_cast<uint8_t>(exponent[n]);
  }
}

// One row: adds to d, but where it cannot tell the sum, which it says. k is a multiple of 4. Floats
// must round toward zero, or to nearest if the result is a half.
SIMT_VECTORS int add_row(const TensorSum& sum, const Scaled& of_a, int row, const Scaled& of_b,
                         int columns, int k, float* d, int32_t* is_left) {
  alignas(64) uint8_t top_of_products[kMostColumns] = {};
  alignas(64) int32_t top[kMostColumns], units[kMostColumns];
  alignas(64) float to_units[kMostColumns];

  // 1. the largest exponent
  const int whole_vectors = with_whole_vectors(columns);
  for (int i = 0; i < k; i += 4) {
    const uint8_t a0 = of_a.exponent[i][row], a1 = of_a.exponent[i + 1][row],
                  a2 = of_a.exponent[i + 2][row], a3 = of_a.exponent[i + 3][row];
    const uint8_t *b0 = of_b.exponent[i], *b1 = of_b.exponent[i + 1], *b2 = of_b.exponent[i + 2],
                  *b3 = of_b.exponent[i + 3];
    for (int n = 0; n < whole_vectors; ++n) {
      const uint8_t e0 = uint8_t(b0[n] + a0), e1 = uint8_t(b1[n] + a1), e2 = uint8_t(b2[n] + a2),
                    e3 = uint8_t(b3[n] + a3);
      const uint8_t e01 = e0 > e1 ? e0 : e1, e23 = e2 > e3 ? e2 : e3, e = e01 > e23 ? e01 : e23;
      top_of_products[n] = e > top_of_products[n] ? e : top_of_products[n];
    }
  }
  for (int n = 0; n < whole_vectors; ++n) top[n] = top_of_products[n];
  const int least = least_c(sum), fraction = sum.fraction_bits, top_a = of_a.top[row];
  const int cut_a = of_a.is_cut[row], left_a = of_a.is_left[row];
  for (int n = 0; n < columns; ++n) {
    const int32_t bits = bits_as<int32_t>(d[n]) & INT32_MAX, field = bits >> 23;
    int c = field - 127 > least ? field - 127 : least;
    c = bits == 0 ? kNone : c;
    const int scale = of_b.top[n] + top_a, is_cut = of_b.is_cut[n] | cut_a;
    const int products = top[n] >= kLeastOfProduct ? top[n] - 2 * kOfTop + scale : kNone;
    int e = products > c ? products : c;
    const int is_something = (e > kNone) | is_cut;
    e = e > sum.floor ? e : sum.floor;
    top[n] = e;
    to_units[n] = near_power_of_two(fraction - e + scale);
    units[n] = 0;
    is_left[n] = left_a | of_b.is_left[n] | (e > kMostFinite) |
                 (is_something & (e < kLeastFinite)) |
                 (is_cut & (e - scale < fraction + 2 - kRange));
  }

  // 2. and 3.: in units, cut off, added
  for (int i = 0; i < k; i += 4) {
    const float a0 = of_a.value[i][row], a1 = of_a.value[i + 1][row], a2 = of_a.value[i + 2][row],
                a3 = of_a.value[i + 3][row];
    const float *b0 = of_b.value[i], *b1 = of_b.value[i + 1], *b2 = of_b.value[i + 2],
                *b3 = of_b.value[i + 3];
    for (int n = 0; n < columns; ++n)
      units[n] += (int32_t(b0[n] * a0 * to_units[n]) + int32_t(b1[n] * a1 * to_units[n])) +
                  (int32_t(b2[n] * a2 * to_units[n]) + int32_t(b3[n] * a3 * to_units[n]));
  }

  // 4.: C, and rounded
  int any = 0;
  for (int n = 0; n < columns; ++n) {
    is_left[n] |= (units[n] > (1 << 30)) | (units[n] < -(1 << 30));
    units[n] += int32_t(d[n] * near_power_of_two(fraction - top[n]));
    any |= is_left[n];
  }
  if (sum.result != TensorSum::Result::f16) {
    const int32_t kept = sum.result == TensorSum::Result::f32_of_13_bits ? -(1 << 10) : -1;
    for (int n = 0; n < columns; ++n) {
      const float rounded = bits_as<float>(bits_as<int32_t>(float(units[n])) & kept);
      d[n] = either(is_left[n], d[n], rounded * near_power_of_two(top[n] - fraction));
    }
  } else {  // adding 1.5 * 2^52 units of the result, and subtracting it, rounds to its units
    for (int n = 0; n < columns; ++n) {
      const double value = double(units[n]) * double(near_power_of_two(top[n] - fraction));
      const int64_t field = bits_as<int64_t>(value) >> 52 & 2047;
      const int64_t exponent = field > 1023 - 14 ? field : 1023 - 14;
      const double rounder = bits_as<double>((exponent + 42) << 52 | int64_t{1} << 51);
      float result = float((value + rounder) - rounder);
      result = result >= 65536.0f ? INFINITY : result <= -65536.0f ? -INFINITY : result;
      d[n] = either(is_left[n], d[n], result);
    }
  }
  return any;
}

// d += a b, where a has a row for each k, as b has. k is a multiple of 4.
void add_by_rows(const TensorSum& sum, int rows, int columns, int k, const float* a, int a_length,
                 const float* b, int b_length, float* d, int d_length) {
  static thread_local Scaled of_a, of_b;
  int32_t is_left[kMostColumns];
  const bool cuts = sum.result != TensorSum::Result::f16;
  for (int first = 0; first < k; first += sum.products) {
    const int count = std::min(sum.products, k - first);
    const float *some_a = a + first * a_length, *some_b = b + first * b_length;
    scale(sum.least_a, rows, count, some_a, a_length, of_a);
    scale(sum.least_b, columns, count, some_b, b_length, of_b);
    const int rounding = std::fegetround();
    if (cuts) std::fesetround(FE_TOWARDZERO);
    for (int row = 0; row < rows; ++row) {
      float* row_d = d + row * d_length;
      if (!add_row(sum, of_a, row, of_b, columns, count, row_d, is_left)) continue;
      std::fesetround(rounding);
      for (int column = 0; column < columns; ++column)
        if (is_left[column])
          row_d[column] = add_products_of_one(sum, count, some_a + row, a_length, some_b + column,
                                              b_length, row_d[column]);
      if (cuts) std::fesetround(FE_TOWARDZERO);
    }
    std::fesetround(rounding);
  }
}

// d += a b, by columns if these are longer.
void add_products(const TensorSum& sum, int rows, int columns, int k, const float* a, int a_length,
                  const float* b, int b_length, float* d, int d_length) {
  float a_turned[kMostK][kMostRows];
  for (int i = 0; i < k; ++i)
    for (int row = 0; row < rows; ++row) a_turned[i][row] = a[row * a_length + i];
  if (columns >= rows) {
    add_by_rows(sum, rows, columns, k, a_turned[0], kMostRows, b, b_length, d, d_length);
    return;
  }
  float d_turned[kMostRows][kMostRows];
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      d_turned[column][row] = d[row * d_length + column];
  TensorSum turned = sum;
  std::swap(turned.least_a, turned.least_b);
  add_by_rows(turned, columns, rows, k, b, b_length, a_turned[0], kMostRows, d_turned[0],
              kMostRows);
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      d[row * d_length + column] = d_turned[column][row];
}

// ---- which instruction sums how -----------------------------------------------------------------

bool is_byte(Number n) { return n == Number::e4m3 || n == Number::e5m2; }

int least_exponent(Number n) {
  return n == Number::e4m3 ? -6 : n == Number::e5m2 || n == Number::f16 ? -14 : -126;
}

TensorSum sum_of(Instruction instruction, Number a, Number b, bool half_result) {
  using Result = TensorSum::Result;
  TensorSum sum{16, 25, least_exponent(a), least_exponent(b), -133, Result::f32};
  if (is_byte(a)) sum.products = 32, sum.fraction_bits = 13, sum.result = Result::f32_of_13_bits;
  if (a == Number::tf32) sum.products = instruction == Instruction::wmma ? 4 : 8;
  if (half_result) sum.result = Result::f16;
  if (half_result && instruction != Instruction::wgmma) sum.floor = -22;
  return sum;
}

// mma.sync of 8-bit numbers: a Hopper GPU has no such instruction. ptxas converts to halves,
// multiplies those whose k is 0 or 1 modulo 4, then the others, by two instructions for halves, and
// adds D at last, rounded to the nearest.
void add_bytes(bool half_result, int rows, int columns, int k, const float* a, int a_length,
               const float* b, int b_length, float* d, int d_length) {
  static thread_local float a_in_order[64][kMostK], b_in_order[kMostK][64], sums[64][64];
  for (int i = 0; i < k; ++i) {
    const int to = i % 4 / 2 * (k / 2) + i / 4 * 2 + i % 2;
    for (int row = 0; row < rows; ++row) a_in_order[row][to] = a[row * a_length + i];
    for (int column = 0; column < columns; ++column)
      b_in_order[to][column] = b[i * b_length + column];
  }
  memset(sums, 0, sizeof sums);
  TensorSum sum = sum_of(Instruction::mma_sync, Number::f16, Number::f16, half_result);
  sum.products = k / 2;
  add_products(sum, rows, columns, k, a_in_order[0], kMostK, b_in_order[0], 64, sums[0], 64);
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      float& to = d[row * d_length + column];
      to = half_result ? nearest_half(double(to) + double(sums[row][column]))
                       : to + sums[row][column];
      if (to != to) to = bits_as<float>(0x7fffffffu);
    }
}

}  // namespace

void add_products(Instruction instruction, Number type_a, Number type_b, bool half_result, int rows,
                  int columns, int k, const float* a, int a_length, const float* b, int b_length,
                  float* d, int d_length) {
  if (is_byte(type_a) && instruction == Instruction::mma_sync)
    add_bytes(half_result, rows, columns, k, a, a_length, b, b_length, d, d_length);
  else
    add_products(sum_of(instruction, type_a, type_b, half_result), rows, columns, k, a, a_length, b,
                 b_length, d, d_length);
}

}  // namespace simt
