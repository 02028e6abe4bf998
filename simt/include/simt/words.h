// Integer intrinsics that take a word apart: four bytes or two halves at once, each by itself; dot
// products; minimum and maximum of three.
#pragma once

#include "simt/math.h"
#include "simt/vector_types.h"

namespace simt {

// The lowest lane of the word as a number.
template <int kBits, bool kSigned>
SIMT_INLINE int lane_of(unsigned word) {
  const unsigned lane = word & ((1u << kBits) - 1);
  return static_cast<int>(kSigned && lane >> (kBits - 1) ? lane - (1u << kBits) : lane);
}
template <int kBits, bool kSigned>
SIMT_INLINE int clamped(int value) {
  constexpr int most = (1 << (kBits - kSigned)) - 1, least = kSigned ? -most - 1 : 0;
  return value < least ? least : value > most ? most : value;
}
// f of each pair of lanes, in the place of the lanes.
template <int kBits, bool kSigned, class Function>
SIMT_INLINE unsigned by_lanes(unsigned a, unsigned b, Function f) {
  unsigned result = 0;
  for (int i = 0; i < 32; i += kBits) {
    const int value = f(lane_of<kBits, kSigned>(a >> i), lane_of<kBits, kSigned>(b >> i));
    result |= (static_cast<unsigned>(value) & ((1u << kBits) - 1)) << i;
  }
  return result;
}
SIMT_INLINE int distance(int a, int b) { return a < b ? b - a : a - b; }
// The sum of f of all pairs of lanes.
template <int kBits, bool kSigned>
SIMT_INLINE unsigned sum_of_distances(unsigned a, unsigned b) {
  unsigned sum = 0;
  for (int i = 0; i < 32; i += kBits)
    sum += static_cast<unsigned>(
        distance(lane_of<kBits, kSigned>(a >> i), lane_of<kBits, kSigned>(b >> i)));
  return sum;
}

}  // namespace simt

#define SIMT_LANES(name, bits, is_signed, value)                    \
  SIMT_INLINE unsigned name(unsigned a, unsigned b) {               \
    return simt::by_lanes<bits, is_signed>(a, b, [](int x, int y) { \
      constexpr auto clamp = simt::clamped<bits, is_signed>;        \
      return (void)clamp, (void)y, static_cast<int>(value);         \
    });                                                             \
  }
#define SIMT_LANES_OF_ONE(name, bits, value)                 \
  SIMT_INLINE unsigned name(unsigned a) {                    \
    return simt::by_lanes<bits, true>(a, 0, [](int x, int) { \
      constexpr auto clamp = simt::clamped<bits, true>;      \
      return (void)clamp, static_cast<int>(value);           \
    });                                                      \
  }
// A comparison: 1, or all bits of the lane.
#define SIMT_COMPARED(name, n, bits, is_signed, comparison)    \
  SIMT_LANES(__vset##name##n, bits, is_signed, x comparison y) \
  SIMT_LANES(__vcmp##name##n, bits, is_signed, x comparison y ? -1 : 0)
// An average of signed lanes is rounded away from zero, one of unsigned lanes up; __vhaddu down.
#define SIMT_WORD(n, bits)                                        \
  SIMT_LANES_OF_ONE(__vabs##n, bits, x < 0 ? -x : x)              \
  SIMT_LANES_OF_ONE(__vabsss##n, bits, clamp(x < 0 ? -x : x))     \
  SIMT_LANES_OF_ONE(__vneg##n, bits, -x)                          \
  SIMT_LANES_OF_ONE(__vnegss##n, bits, clamp(-x))                 \
  SIMT_LANES(__vadd##n, bits, false, x + y)                       \
  SIMT_LANES(__vaddss##n, bits, true, clamp(x + y))               \
  SIMT_LANES(__vaddus##n, bits, false, clamp(x + y))              \
  SIMT_LANES(__vsub##n, bits, false, x - y)                       \
  SIMT_LANES(__vsubss##n, bits, true, clamp(x - y))               \
  SIMT_LANES(__vsubus##n, bits, false, clamp(x - y))              \
  SIMT_LANES(__vavgs##n, bits, true, (x + y + (x + y >= 0)) >> 1) \
  SIMT_LANES(__vavgu##n, bits, false, (x + y + 1) >> 1)           \
  SIMT_LANES(__vhaddu##n, bits, false, (x + y) >> 1)              \
  SIMT_LANES(__vabsdiffs##n, bits, true, simt::distance(x, y))    \
  SIMT_LANES(__vabsdiffu##n, bits, false, simt::distance(x, y))   \
  SIMT_LANES(__vmaxs##n, bits, true, x < y ? y : x)               \
  SIMT_LANES(__vmaxu##n, bits, false, x < y ? y : x)              \
  SIMT_LANES(__vmins##n, bits, true, x < y ? x : y)               \
  SIMT_LANES(__vminu##n, bits, false, x < y ? x : y)              \
  SIMT_COMPARED(eq, n, bits, false, ==)                           \
  SIMT_COMPARED(ne, n, bits, false, !=)                           \
  SIMT_COMPARED(gts, n, bits, true, >)                            \
  SIMT_COMPARED(gtu, n, bits, false, >)                           \
  SIMT_COMPARED(ges, n, bits, true, >=)                           \
  SIMT_COMPARED(geu, n, bits, false, >=)                          \
  SIMT_COMPARED(lts, n, bits, true, <)                            \
  SIMT_COMPARED(ltu, n, bits, false, <)                           \
  SIMT_COMPARED(les, n, bits, true, <=)                           \
  SIMT_COMPARED(leu, n, bits, false, <=)                          \
  SIMT_INLINE unsigned __vsads##n(unsigned a, unsigned b) {       \
    return simt::sum_of_distances<bits, true>(a, b);              \
  }                                                               \
  SIMT_INLINE unsigned __vsadu##n(unsigned a, unsigned b) {       \
    return simt::sum_of_distances<bits, false>(a, b);             \
  }
SIMT_WORD(2, 16)
SIMT_WORD(4, 8)
#undef SIMT_WORD
#undef SIMT_COMPARED
#undef SIMT_LANES_OF_ONE
#undef SIMT_LANES

// ---- minimum and maximum of three, of a sum and another, and with 0 as the least (_relu)
#define SIMT_THREE(T, suffix, less, more, sum)                                   \
  SIMT_INLINE T __vimax3_##suffix(T a, T b, T c) { return more(more(a, b), c); } \
  SIMT_INLINE T __vimin3_##suffix(T a, T b, T c) { return less(less(a, b), c); } \
  SIMT_INLINE T __viaddmax_##suffix(T a, T b, T c) { return more(sum, c); }      \
  SIMT_INLINE T __viaddmin_##suffix(T a, T b, T c) { return less(sum, c); }
#define SIMT_RELU(T, suffix, less, more)                                          \
  SIMT_INLINE T __vimax_##suffix##_relu(T a, T b) { return more(more(a, b), 0); } \
  SIMT_INLINE T __vimin_##suffix##_relu(T a, T b) { return more(less(a, b), 0); } \
  SIMT_INLINE T __vimax3_##suffix##_relu(T a, T b, T c) {                         \
    return more(__vimax3_##suffix(a, b, c), 0);                                   \
  }                                                                               \
  SIMT_INLINE T __vimin3_##suffix##_relu(T a, T b, T c) {                         \
    return more(__vimin3_##suffix(a, b, c), 0);                                   \
  }                                                                               \
  SIMT_INLINE T __viaddmax_##suffix##_relu(T a, T b, T c) {                       \
    return more(__viaddmax_##suffix(a, b, c), 0);                                 \
  }                                                                               \
  SIMT_INLINE T __viaddmin_##suffix##_relu(T a, T b, T c) {                       \
    return more(__viaddmin_##suffix(a, b, c), 0);                                 \
  }
SIMT_THREE(int, s32, min, max,
           static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
SIMT_THREE(unsigned, u32, min, max, a + b)
SIMT_THREE(unsigned, s16x2, __vmins2, __vmaxs2, __vadd2(a, b))
SIMT_THREE(unsigned, u16x2, __vminu2, __vmaxu2, __vadd2(a, b))
SIMT_RELU(int, s32, min, max)
SIMT_RELU(unsigned, s16x2, __vmins2, __vmaxs2)
#undef SIMT_RELU
#undef SIMT_THREE
// Also tells whether it is the first one; if both are equal, too.
#define SIMT_WHICH(T, suffix, halves, less, more)                                         \
  SIMT_INLINE T __vibmax_##suffix(T a, T b, bool* first) {                                \
    *first = a >= b;                                                                      \
    return *first ? a : b;                                                                \
  }                                                                                       \
  SIMT_INLINE T __vibmin_##suffix(T a, T b, bool* first) {                                \
    *first = a <= b;                                                                      \
    return *first ? a : b;                                                                \
  }                                                                                       \
  SIMT_INLINE unsigned __vibmax_##halves(unsigned a, unsigned b, bool* high, bool* low) { \
    const unsigned first = more(a, b);                                                    \
    *high = first >> 16, *low = first & 1;                                                \
    return (first & 1 ? a : b) % 65536 | (first >> 16 ? a : b) / 65536 * 65536;           \
  }                                                                                       \
  SIMT_INLINE unsigned __vibmin_##halves(unsigned a, unsigned b, bool* high, bool* low) { \
    const unsigned first = less(a, b);                                                    \
    *high = first >> 16, *low = first & 1;                                                \
    return (first & 1 ? a : b) % 65536 | (first >> 16 ? a : b) / 65536 * 65536;           \
  }
SIMT_WHICH(int, s32, s16x2, __vsetles2, __vsetges2)
SIMT_WHICH(unsigned, u32, u16x2, __vsetleu2, __vsetgeu2)
#undef SIMT_WHICH

// ---- dot products: two halves of a with the two lower, or upper, bytes of b, added to c
SIMT_INLINE int __dp2a_lo(int a, int b, int c) {
  for (int i = 0; i < 2; ++i)
    c += static_cast<short>(a >> (16 * i)) * static_cast<signed char>(b >> (8 * i));
  return c;
}
SIMT_INLINE unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 2; ++i) c += (a >> (16 * i) & 0xffff) * (b >> (8 * i) & 0xff);
  return c;
}
SIMT_INLINE int __dp2a_hi(int a, int b, int c) { return __dp2a_lo(a, b >> 16, c); }
SIMT_INLINE unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) {
  return __dp2a_lo(a, b >> 16, c);
}
SIMT_INLINE int __dp2a_lo(short2 a, char4 b, int c) { return c + a.x * b.x + a.y * b.y; }
SIMT_INLINE int __dp2a_hi(short2 a, char4 b, int c) { return c + a.x * b.z + a.y * b.w; }
SIMT_INLINE unsigned __dp2a_lo(ushort2 a, uchar4 b, unsigned c) {
  return c + unsigned(a.x) * b.x + unsigned(a.y) * b.y;
}
SIMT_INLINE unsigned __dp2a_hi(ushort2 a, uchar4 b, unsigned c) {
  return c + unsigned(a.x) * b.z + unsigned(a.y) * b.w;
}
SIMT_INLINE int __dp4a(char4 a, char4 b, int c) {
  return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
SIMT_INLINE unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return c + unsigned(a.x * b.x) + unsigned(a.y * b.y) + unsigned(a.z * b.z) + unsigned(a.w * b.w);
}
