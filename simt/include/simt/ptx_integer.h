// Integer instructions of PTX that C++ has no operator for: sums with carry, packed and partial
// products, bytes and masks.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "simt/build_mode.h"

namespace simt {
namespace ptx {

// ---- the carry: one bit, handed on from instruction to instruction (CC.CF) ----------------------
inline thread_local bool carry = false;

// a + b, with the carry of before (addc) and for those that follow (.cc).
template <class T>
SIMT_INLINE T add_carry(T a, T b, bool takes, bool leaves) {
  using Unsigned = typename std::make_unsigned<T>::type;
  Unsigned sum;
  bool over = __builtin_add_overflow(static_cast<Unsigned>(a), static_cast<Unsigned>(b), &sum);
  if (takes && carry) over |= __builtin_add_overflow(sum, Unsigned(1), &sum);
  if (leaves) carry = over;
  return static_cast<T>(sum);
}
// The carry of a difference is a borrow.
template <class T>
SIMT_INLINE T sub_carry(T a, T b, bool takes, bool leaves) {
  using Unsigned = typename std::make_unsigned<T>::type;
  Unsigned difference;
  bool under =
      __builtin_sub_overflow(static_cast<Unsigned>(a), static_cast<Unsigned>(b), &difference);
  if (takes && carry) under |= __builtin_sub_overflow(difference, Unsigned(1), &difference);
  if (leaves) carry = under;
  return static_cast<T>(difference);
}

// ---- products of parts --------------------------------------------------------------------------
// Two 16-bit halves of a times two bytes of b, the upper two if `upper`, added to c.
template <class Half, class Byte>
SIMT_INLINE unsigned dp2a(unsigned a, unsigned b, unsigned c, bool upper) {
  for (unsigned i = 0; i < 2; ++i)
    c += static_cast<unsigned>(int(static_cast<Half>(a >> (16 * i))) *
                               int(static_cast<Byte>(b >> (8 * i + (upper ? 16 : 0)))));
  return c;
}

// ---- bytes and masks ----------------------------------------------------------------------------
// prmt with a mode: four bytes of the eight of b:a, chosen by the lower two bits of `selector`.
enum class Permute { f4e, b4e, rc8, ecl, ecr, rc16 };
SIMT_INLINE unsigned prmt_mode(unsigned a, unsigned b, unsigned selector, Permute mode) {
  constexpr unsigned kTables[6][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543},  // f4e: four from here on
      {0x5670, 0x6701, 0x7012, 0x0123},  // b4e: four from here back
      {0x0000, 0x1111, 0x2222, 0x3333},  // rc8: one, four times
      {0x3210, 0x3211, 0x3222, 0x3333},  // ecl: none below this one
      {0x0000, 0x1110, 0x2210, 0x3210},  // ecr: none above it
      {0x1010, 0x3232, 0x1010, 0x3232},  // rc16: one half, twice
  };
  const unsigned choice = kTables[static_cast<int>(mode)][selector & 3];
  const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i)
    result |= static_cast<unsigned>(bytes >> (8 * (choice >> (4 * i) & 7)) & 255) << (8 * i);
  return result;
}

// `width` ones from bit `start` on.
SIMT_INLINE unsigned bmsk(unsigned start, unsigned width, bool clamp) {
  if (!clamp) start &= 31, width &= 31;
  if (start > 31) return 0;
  const uint64_t ones = width >= 32 ? 0xffffffffu : (uint64_t(1) << width) - 1;
  return static_cast<unsigned>(ones << start);
}

// szext: the lower `width` bits, extended by their sign if T has one.
template <class T>
SIMT_INLINE T szext(T a, unsigned width, bool clamp) {
  if (!clamp) width &= 31;
  if (width == 0) return 0;
  if (width > 31) return a;
  const unsigned up = 32 - width;
  return static_cast<T>(static_cast<T>(static_cast<unsigned>(a) << up) >> up);
}

// cvt.pack: a and b, each the nearest that a To of `bits` bits holds, side by side, b lowest; above
// them what fits of c.
template <class To>
SIMT_INLINE unsigned cvt_pack(int a, int b, unsigned c, unsigned bits) {
  const int64_t lowest = std::is_signed_v<To> ? -(int64_t(1) << (bits - 1)) : 0;
  const int64_t highest = (int64_t(1) << (std::is_signed_v<To> ? bits - 1 : bits)) - 1;
  const unsigned mask = (1u << bits) - 1;
  const auto fit = [&](int64_t x) SIMT_UNWATCHED -> unsigned {
    return static_cast<unsigned>(x < lowest ? lowest : x > highest ? highest : x) & mask;
  };
  const unsigned pair = fit(a) << bits | fit(b);
  return bits == 16 ? pair : c << (2 * bits) | pair;
}

}  // namespace ptx
}  // namespace simt
