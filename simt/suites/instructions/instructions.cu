// Every form of an instruction or a device function of one thread or one warp that simt takes: what
// does it make of edge cases and of random operands? README.md says what was compared.
//
//   nvcc -std=c++17 -O2 -gencode arch=compute_90a,code=sm_90a instructions.cu -o instructions
//   ./instructions --compare on_gpu.txt     exit 0: all as an H200 gave it
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

using Short = unsigned short;
using Wide = unsigned long long;
using SignedWide = long long;

// ---- types: of an operand or a result. Some say which values are asked ----------------------------
enum Kind {
  none,
  s16,
  u16,
  b16,
  s32,
  u32,
  b32,
  s64,
  u64,
  b64,
  f32,
  f64,
  f16,
  bf16,
  f16x2,
  bf16x2,
  s16x2,
  u16x2,
  e4m3x2,
  e5m2x2,
  byte,
  nonzero_s16,
  nonzero_u16,
  nonzero_s32,
  nonzero_u32,
  nonzero_s64,
  nonzero_u64,
  shift,
  selector,
  predicate,
  mostly,
  few,
  few64,
  segment,
  width,
  lane,
  offset
};
#define T_s16 short
#define T_u16 unsigned short
#define T_b16 unsigned short
#define T_s32 int
#define T_u32 unsigned
#define T_b32 unsigned
#define T_s64 long long
#define T_u64 unsigned long long
#define T_b64 unsigned long long
#define T_f32 float
#define T_f64 double
#define T_f16 unsigned short
#define T_bf16 unsigned short
#define T_f16x2 unsigned
#define T_bf16x2 unsigned
#define T_s16x2 unsigned
#define T_u16x2 unsigned
#define T_e4m3x2 unsigned short
#define T_e5m2x2 unsigned short
#define T_byte unsigned char
#define T_nonzero_s16 short
#define T_nonzero_u16 unsigned short
#define T_nonzero_s32 int
#define T_nonzero_u32 unsigned
#define T_nonzero_s64 long long
#define T_nonzero_u64 unsigned long long
#define T_shift unsigned
#define T_selector unsigned
#define T_predicate unsigned
#define T_mostly unsigned
#define T_few unsigned
#define T_few64 unsigned long long
#define T_segment unsigned
#define T_width unsigned
#define T_lane unsigned
#define T_offset int
// The letter of its register.
#define C_s16 "h"
#define C_u16 "h"
#define C_b16 "h"
#define C_s32 "r"
#define C_u32 "r"
#define C_b32 "r"
#define C_s64 "l"
#define C_u64 "l"
#define C_b64 "l"
#define C_f32 "f"
#define C_f64 "d"
#define C_f16 "h"
#define C_bf16 "h"
#define C_f16x2 "r"
#define C_bf16x2 "r"
#define C_s16x2 "r"
#define C_u16x2 "r"
#define C_e4m3x2 "h"
#define C_e5m2x2 "h"
#define C_nonzero_s16 "h"
#define C_nonzero_u16 "h"
#define C_nonzero_s32 "r"
#define C_nonzero_u32 "r"
#define C_nonzero_s64 "l"
#define C_nonzero_u64 "l"
#define C_shift "r"
#define C_selector "r"
#define C_predicate "r"
#define C_mostly "r"
#define C_few "r"
#define C_few64 "l"
#define C_segment "r"
#define C_width "r"
#define C_lane "r"
#define C_offset "r"

__host__ __device__ constexpr bool is_divisor(Kind kind) {
  return kind >= nonzero_s16 && kind <= nonzero_u64;
}

struct Operands {
  uint64_t of[4];
};
struct Results {
  uint64_t low, high;
};

template <class T>
__device__ T taken(uint64_t bits) {
  T value;
  memcpy(static_cast<void*>(&value), &bits, sizeof value);
  return value;
}
template <class T>
__device__ uint64_t given(T value) {
  uint64_t bits = 0;
  memcpy(&bits, static_cast<const void*>(&value), sizeof value);
  return bits;
}
__device__ __half one(Short bits) { return __ushort_as_half(bits); }
__device__ __nv_bfloat16 one_b(Short bits) { return __ushort_as_bfloat16(bits); }
__device__ __half2 two(unsigned bits) { return taken<__half2>(bits); }
__device__ __nv_bfloat162 two_b(unsigned bits) { return taken<__nv_bfloat162>(bits); }
__device__ Short bits_of(__half x) { return __half_as_ushort(x); }
__device__ Short bits_of(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }
__device__ unsigned bits_of(__half2 x) { return static_cast<unsigned>(given(x)); }
__device__ unsigned bits_of(__nv_bfloat162 x) { return static_cast<unsigned>(given(x)); }
template <class T>
__device__ T fp8_of(unsigned char bits) {
  T x;
  x.__x = bits;
  return x;
}

// ---- the forms, as functions of the device ---------------------------------------------------------
#define GROUP(identifier, title)                                                                  \
  __device__ Results identifier(int form, const Operands& in, uint64_t* cell, uint64_t* shared) { \
    (void)cell, (void)shared;                                                                     \
    switch (form) {
#define END  \
  }          \
  return {}; \
  }
// A divisor that is zero is taken for 1 here, and its case is not compared.
#define TAKE(T, name, at) \
  const T_##T name = taken<T_##T>(in.of[at] + (is_divisor(T) && in.of[at] == 0))
#define CASE(...)                  \
  case __COUNTER__ - kFirst - 1: { \
    __VA_ARGS__                    \
  }
#define X1(R, A, name, text)                                         \
  CASE(TAKE(A, a, 0); T_##R result; asm volatile(text                \
                                                 : "=" C_##R(result) \
                                                 : C_##A(a));        \
       return {given(result), 0};)
#define X2(R, A, B, name, text)                                                        \
  CASE(TAKE(A, a, 0); TAKE(B, b, 1); T_##R result; asm volatile(text                   \
                                                                : "=" C_##R(result)    \
                                                                : C_##A(a), C_##B(b)); \
       return {given(result), 0};)
#define X3(R, A, B, C, name, text)                                \
  CASE(TAKE(A, a, 0); TAKE(B, b, 1); TAKE(C, c, 2); T_##R result; \
       asm volatile(text                                          \
                    : "=" C_##R(result)                           \
                    : C_##A(a), C_##B(b), C_##C(c));              \
       return {given(result), 0};)
#define X4(R, A, B, C, D, name, text)                                            \
  CASE(TAKE(A, a, 0); TAKE(B, b, 1); TAKE(C, c, 2); TAKE(D, d, 3); T_##R result; \
       asm volatile(text                                                         \
                    : "=" C_##R(result)                                          \
                    : C_##A(a), C_##B(b), C_##C(c), C_##D(d));                   \
       return {given(result), 0};)
#define P1(R, A, name) X1(R, A, name, name " %0, %1;")
#define P2(R, A, B, name) X2(R, A, B, name, name " %0, %1, %2;")
#define P3(R, A, B, C, name) X3(R, A, B, C, name, name " %0, %1, %2, %3;")
#define P4(R, A, B, C, D, name) X4(R, A, B, C, D, name, name " %0, %1, %2, %3, %4;")
#define E1(R, A, name, ...) CASE(TAKE(A, a, 0); return {given<T_##R>(__VA_ARGS__), 0};)
#define E2(R, A, B, name, ...) \
  CASE(TAKE(A, a, 0); TAKE(B, b, 1); return {given<T_##R>(__VA_ARGS__), 0};)
#define E3(R, A, B, C, name, ...) \
  CASE(TAKE(A, a, 0); TAKE(B, b, 1); TAKE(C, c, 2); return {given<T_##R>(__VA_ARGS__), 0};)
#define E4(R, A, B, C, D, name, ...)                               \
  CASE(TAKE(A, a, 0); TAKE(B, b, 1); TAKE(C, c, 2); TAKE(D, d, 3); \
       return {given<T_##R>(__VA_ARGS__), 0};)
#define S1(R, A, name, ...) \
  CASE(TAKE(A, a, 0); T_##R low; T_##R high; __VA_ARGS__ return {given(low), given(high)};)
#define S3(R, A, B, C, name, ...)                                          \
  CASE(TAKE(A, a, 0); TAKE(B, b, 1); TAKE(C, c, 2); T_##R low; T_##R high; \
       __VA_ARGS__ return {given(low), given(high)};)
#define S4(R, A, B, C, D, name, ...)                                                      \
  CASE(TAKE(A, a, 0); TAKE(B, b, 1); TAKE(C, c, 2); TAKE(D, d, 3); T_##R low; T_##R high; \
       __VA_ARGS__ return {given(low), given(high)};)
#define ATOM(T, name, ...)                                                                \
  CASE(TAKE(T, a, 0); TAKE(T, b, 1); TAKE(T, c, 2); T_##T low; (void)a; (void)b; (void)c; \
       *cell = in.of[0]; __threadfence_block(); __VA_ARGS__ __threadfence_block();        \
       return {given(low), *static_cast<volatile uint64_t*>(cell)};)
#define SHARED_CELL(T, a) \
  *shared = in.of[0];     \
  const unsigned shared_cell = static_cast<unsigned>(__cvta_generic_to_shared(shared))
#define SHARED_BACK(T) *cell = *static_cast<volatile uint64_t*>(shared)

constexpr int kFirst = __COUNTER__;
#include "forms.inc"
constexpr int kForms = __COUNTER__ - kFirst - 1;
#undef GROUP
#undef END
#undef X1
#undef X2
#undef X3
#undef X4
#undef P1
#undef P2
#undef P3
#undef P4
#undef E1
#undef E2
#undef E3
#undef E4
#undef S1
#undef S3
#undef S4
#undef ATOM

// ---- the forms, as a table ----------------------------------------------------------------------
struct Form {
  const char* name;
  Kind result;
  Kind operands[4];
  bool twice;  // two results
  int group;
};
struct Group {
  const char* title;
  Results (*function)(int, const Operands&, uint64_t*, uint64_t*);
  int first;
};
#define END
#define X1(R, A, name, ...) {name, R, {A, none, none, none}, false, 0},
#define X2(R, A, B, name, ...) {name, R, {A, B, none, none}, false, 0},
#define X3(R, A, B, C, name, ...) {name, R, {A, B, C, none}, false, 0},
#define X4(R, A, B, C, D, name, ...) {name, R, {A, B, C, D}, false, 0},
#define P1(R, A, name) X1(R, A, name)
#define P2(R, A, B, name) X2(R, A, B, name)
#define P3(R, A, B, C, name) X3(R, A, B, C, name)
#define P4(R, A, B, C, D, name) X4(R, A, B, C, D, name)
#define E1(...) X1(__VA_ARGS__)
#define E2(...) X2(__VA_ARGS__)
#define E3(...) X3(__VA_ARGS__)
#define E4(...) X4(__VA_ARGS__)
#define S1(R, A, name, ...) {name, R, {A, none, none, none}, true, 0},
#define S3(R, A, B, C, name, ...) {name, R, {A, B, C, none}, true, 0},
#define S4(R, A, B, C, D, name, ...) {name, R, {A, B, C, D}, true, 0},
#define ATOM(T, name, ...) {name, T, {T, T, T, none}, true, 0},
#define GROUP(identifier, title) {title, none, {}, false, 1},  // a heading

const Form kTable[] = {
#include "forms.inc"
};

// ---- on the device ------------------------------------------------------------------------------
#undef GROUP
#undef X1
#undef X2
#undef X3
#undef X4
#undef P1
#undef P2
#undef P3
#undef P4
#undef E1
#undef E2
#undef E3
#undef E4
#undef S1
#undef S3
#undef S4
#undef ATOM
#define X1(...)
#define X2(...)
#define X3(...)
#define X4(...)
#define P1(...)
#define P2(...)
#define P3(...)
#define P4(...)
#define E1(...)
#define E2(...)
#define E3(...)
#define E4(...)
#define S1(...)
#define S3(...)
#define S4(...)
#define ATOM(...)
constexpr int kFirstGroup = __COUNTER__;
#define GROUP(identifier, title) \
  case __COUNTER__ - kFirstGroup - 1: return identifier(form, in, cell, shared);
__device__ Results carried_out(int group, int form, const Operands& in, uint64_t* cell,
                               uint64_t* shared) {
  switch (group) {
#include "forms.inc"
  }
  return {};
}
constexpr int kGroups = __COUNTER__ - kFirstGroup - 1;
static_assert(sizeof kTable / sizeof *kTable == kForms + kGroups, "the table has all forms");

// ---- on the device ------------------------------------------------------------------------------
constexpr int kThreads = 128;

// Cases of some forms. One block carries out `cases` of one form: `forms` and `groups` say which.
__global__ void carry_out(const int* forms, const int* groups, int cases, const Operands* in,
                          uint64_t* cells, Results* out) {
  __shared__ uint64_t shared[kThreads];
  const int form = forms[blockIdx.x], group = groups[blockIdx.x];
  for (int i = threadIdx.x; i < cases; i += kThreads) {
    const int64_t at = int64_t{blockIdx.x} * cases + i;
    out[at] = carried_out(group, form, in[at], &cells[at], &shared[threadIdx.x]);
  }
}

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "instructions: %s\n", cudaGetErrorString(error));
  exit(1);
}
template <class T>
T* device_array(size_t count) {
  void* data = nullptr;
  check(cudaMalloc(&data, count * sizeof(T)));
  return static_cast<T*>(data);
}

// ---- the operands ---------------------------------------------------------------------------------
constexpr int kEdges = 2048;  // cases of edges: of one or two operands, each with each
constexpr int kFew = 2560;    // they, and some random ones
constexpr int kCases = 4096;

uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}
template <class To, class From>
To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

int bytes_of(Kind kind) {
  switch (kind) {
    case byte: return 1;
    case s16:
    case u16:
    case b16:
    case f16:
    case bf16:
    case e4m3x2:
    case e5m2x2:
    case nonzero_s16:
    case nonzero_u16: return 2;
    case s64:
    case u64:
    case b64:
    case f64:
    case nonzero_s64:
    case nonzero_u64:
    case few64: return 8;
    default: return 4;
  }
}

std::vector<uint64_t> edges(Kind kind) {
  std::vector<uint64_t> list;
  switch (kind) {
    case f32:
      return {0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0xbf000000, 0x3fc00000,
              0x40200000, 0xc0200000, 0x00000001, 0x80000001, 0x00000005, 0x007fffff, 0x807fffff,
              0x00800000, 0x80800000, 0x00800001, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
              0x7fc00000, 0xffc00001, 0x7f800001, 0x7fffffff, 0xff812345, 0x3f800001, 0x3f7fffff,
              0x4affffff, 0x4b000001, 0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff,
              0x4f800000, 0x5effffff, 0x5f000000, 0xdf000000, 0x5f800000, 0x40490fdb, 0x477fe000,
              0x477ff000, 0x477fefff, 0x47800000, 0x33000000, 0x33000001, 0x33800000, 0x38800000,
              0x387fffff, 0x43e00000, 0x43e80000, 0x43e80001, 0x47600000, 0x47700000, 0x7f7f8000,
              0x7f7f7fff, 0x3f808000, 0x3f818000, 0x3f801000, 0x3f803000, 0x42fe0000, 0x42ff0000,
              0x46fffe00, 0x47000000, 0x3a800000, 0x3b000000, 0x37000000, 0x37800000, 0xc3000000,
              0x437f0000, 0x43800000};
    case f64:
      for (uint64_t bits : edges(f32)) {
        const float value = same_bits<float>(uint32_t(bits));
        if (value == value) list.push_back(same_bits<uint64_t>(double(value)));
      }
      for (uint64_t bits : std::vector<uint64_t>{
               0x7ff8000000000000u, 0xfff8000000000001u, 0x7ff0000000000001u, 0x7fffffffffffffffu,
               0x0000000000000001u, 0x8000000000000001u, 0x000fffffffffffffu, 0x0010000000000000u,
               0x7fefffffffffffffu, 0xffefffffffffffffu, 0x3ff0000000000001u, 0x3fefffffffffffffu,
               0x3ff0000010000000u, 0x3ff0000030000000u, 0x3ff0000010000001u, 0x47efffffefffffffu,
               0x47effffff0000000u, 0x36a0000000000000u, 0x3690000000000000u, 0x3690000000000001u,
               0x380fffffe0000000u, 0x41dfffffffc00000u, 0x41e0000000000000u, 0xc1e0000000000000u,
               0xc1e0000000100000u, 0x41efffffffe00000u, 0x43dfffffffffffffu, 0x43e0000000000000u,
               0xc3e0000000000000u, 0x43efffffffffffffu, 0x43f0000000000000u, 0x4330000000000001u,
               0x432fffffffffffffu, 0x400921fb54442d18u, 0x3ff0020000000000u, 0x3ff0020000000001u,
               0x3ff0100000000000u, 0x40effdffffffffffu, 0x40effe0000000000u})
        list.push_back(bits);
      return list;
    case f16:
      return {0x0000, 0x8000, 0x3c00, 0xbc00, 0x3800, 0xb800, 0x3e00, 0x4100, 0xc100,
              0x0001, 0x8001, 0x0003, 0x0155, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x0401,
              0x3c01, 0x3bff, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01,
              0xfd55, 0x7fff, 0xffff, 0x6400, 0x6401, 0x6800, 0x57ff, 0x5bff, 0x77ff,
              0x7800, 0x1000, 0x2e66, 0x4248, 0x5f00, 0x5f40, 0x5f41, 0x7b00, 0x7b80};
    case bf16:
      return {0x0000, 0x8000, 0x3f80, 0xbf80, 0x3f00, 0xbf00, 0x3fc0, 0x4020, 0xc020,
              0x0001, 0x8001, 0x0005, 0x007f, 0x807f, 0x0080, 0x8080, 0x0081, 0x3f81,
              0x3f7f, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x7f81, 0xff95,
              0x7fff, 0xffff, 0x4300, 0x4380, 0x42ff, 0x4f00, 0xcf00, 0x4f7f, 0x5f00,
              0x5f80, 0x3300, 0x4049, 0x3dcd, 0x43e0, 0x43e8, 0x43e9, 0x4760, 0x4770};
    case f16x2:
    case bf16x2:
    case s16x2:
    case u16x2: {
      const std::vector<uint64_t> one = edges(kind == f16x2 ? f16 : kind == bf16x2 ? bf16 : s16);
      for (size_t i = 0; i < one.size(); ++i)
        list.push_back(one[i] | one[(i * 7 + 3) % one.size()] << 16);
      return list;
    }
    case byte:
      for (uint64_t i = 0; i < 256; ++i) list.push_back(i);
      return list;
    case e4m3x2:
    case e5m2x2:
      for (uint64_t i = 0; i < 256; ++i) list.push_back(i | ((i * 37 + 11) & 255) << 8);
      return list;
    case shift:
      return {0,  1,   2,   3,   7,   8,   9,     15,         16,         17,        23,
              24, 30,  31,  32,  33,  34,  47,    48,         62,         63,        64,
              65, 127, 128, 255, 256, 257, 0x120, 0x7fffffff, 0x80000000, 0xffffffff};
    case selector:
      return {0x3210, 0x7654, 0x0123, 0x4567, 0xba98,  0xfedc,     0x89ab, 0xf0f0, 0x5410, 0x7632,
              0x0000, 0x1111, 0x8888, 0xffff, 0x13210, 0xffff3210, 1,      2,      3,      4};
    case predicate: return {0, 1};
    case lane: return {0, 1, 2, 3, 7, 8, 15, 16, 17, 30, 31};
    case width: return {1, 2, 4, 8, 16, 32};
    case offset:
      return {0, 1, 2, 3, 16, 31, 32, 33, 0xffffffff, 0xfffffffe, 0xfffffff0, 0xffffffe0};
    case segment:
      return {0x1f,   0,      0x1e1f, 0x1e00, 0x181f, 0x1800,
              0x101f, 0x1000, 0x1f1f, 0x0f,   0x0807, 0xf00d};
    case mostly:
    case few:
    case few64: return {};  // only random ones: they depend on the warp
    default: break;
  }
  // Integers: about zero, powers of two and the limits of each width.
  const int bits = 8 * bytes_of(kind);
  const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  for (uint64_t value : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{7},
                         uint64_t{10}, uint64_t{100}})
    list.push_back(value), list.push_back(all - value);
  for (int width : {7, 8, 15, 16, 23, 24, 31, 32, 47, 53, 62, 63, 64}) {
    if (width > bits) continue;
    const uint64_t power = width == 64 ? 0 : uint64_t{1} << width;
    for (uint64_t value : {power - 1, power, power + 1}) list.push_back(value & all);
    if (width >= 24) list.push_back(-power & all);
  }
  list.push_back(0x5555555555555555u & all), list.push_back(0xaaaaaaaaaaaaaaaau & all);
  list.push_back(0x123456789abcdef0u & all);
  if (kind >= nonzero_s16 && kind <= nonzero_u64) list.erase(list.begin());
  return list;
}

// A random operand. before: the one before it, which it may resemble. warp: the number of its warp.
uint64_t random_operand(Kind kind, uint64_t random, uint64_t before, uint64_t warp) {
  const uint64_t style = random % 8, more = mixed(random);
  switch (kind) {
    case f32: {
      const uint32_t sign = uint32_t(more >> 63) << 31, mantissa = uint32_t(more) & 0x7fffff;
      const uint32_t dice = uint32_t(more >> 32) & 0xffff;
      switch (style) {
        case 0: return uint32_t(more);
        case 1: return sign | (119 + dice % 16) << 23 | mantissa;
        case 2: return same_bits<uint32_t>(float(int(uint32_t(more)) >> dice % 31) * 0.5f);
        case 3: return sign | (dice % 3 ? mantissa >> dice % 23 : 1u << 23 | mantissa);
        case 4: return uint32_t(before) ^ sign ^ (dice & 7);
        case 5: return sign | (127 + 12 + dice % 56) << 23 | mantissa;
        case 6:  // half way between two bfloat16 or two halves
          return dice & 1 ? uint32_t(more) << 16 | 0x8000
                          : sign | (103 + dice % 40) << 23 | (mantissa & 0x7fe000) | 0x1000;
        default: return sign | (127 - 27 + dice % 18) << 23 | mantissa;
      }
    }
    case f64: {
      const uint64_t sign = more >> 63 << 63, mantissa = more & 0xfffffffffffff, dice = mixed(more);
      switch (style) {
        case 0: return more;
        case 1: return sign | (1015 + dice % 16) << 52 | mantissa;
        case 2: return same_bits<uint64_t>(double(int64_t(more) >> dice % 63) * 0.5);
        case 3: return sign | (dice % 3 ? mantissa >> dice % 52 : uint64_t{1} << 52 | mantissa);
        case 4: return before ^ sign ^ (dice & 7);
        case 5: return sign | (1023 - 150 + dice % 280) << 52 | mantissa;
        case 6:  // half way between two floats
          return sign | (1023 - 140 + dice % 270) << 52 | (mantissa & 0xfffffe0000000u) |
                 0x10000000;
        default: return sign | (1023 + 12 + dice % 56) << 52 | mantissa;
      }
    }
    case f16: {
      const unsigned sign = unsigned(more >> 63) << 15, mantissa = unsigned(more) & 0x3ff;
      if (style == 1) return sign | (11 + (more >> 16) % 8) << 10 | mantissa;
      if (style == 2) return sign | mantissa;
      if (style == 3) return (before ^ sign ^ (more >> 16 & 3)) & 0xffff;
      return more & 0xffff;
    }
    case bf16: {
      const unsigned sign = unsigned(more >> 63) << 15, mantissa = unsigned(more) & 0x7f;
      if (style == 1) return sign | (119 + (more >> 16) % 16) << 7 | mantissa;
      if (style == 2) return sign | mantissa;
      if (style == 3) return (before ^ sign ^ (more >> 16 & 3)) & 0xffff;
      if (style == 4) return sign | (110 + (more >> 16) % 80) << 7 | mantissa;
      return more & 0xffff;
    }
    case f16x2:
    case bf16x2:
    case s16x2:
    case u16x2: {
      const Kind one = kind == f16x2 ? f16 : kind == bf16x2 ? bf16 : s16;
      return random_operand(one, mixed(more), before & 0xffff, warp) |
             random_operand(one, mixed(more + 1), before >> 16, warp) << 16;
    }
    case byte: return more & 255;
    case e4m3x2:
    case e5m2x2: return more & 0xffff;
    case shift: return style == 0 ? more & 0xffffffff : more % 70;
    case selector: return style == 0 ? more & 0xffffffff : more & 0xffff;
    case predicate: return more & 1;
    case lane: return more & 31;
    case width: return uint64_t{1} << more % 6;
    case offset: return uint32_t(int(more % 67) - 33);
    case segment: return more & 0x1f1f;
    case few: return more % 5 * 0x01000001u;
    case few64: return more % 3 << 32 | (more >> 8) % 2;
    case mostly: {  // none, all, all but one, one
      const uint64_t place = warp >> 8 & 31, here = more >> 59;
      const bool odd = here == place;
      return warp % 4 == 0 ? 0 : warp % 4 == 1 ? 7 : warp % 4 == 2 ? (odd ? 0 : 7) : (odd ? 7 : 0);
    }
    default: break;
  }
  const int bits = 8 * bytes_of(kind);
  const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  uint64_t value = more;
  const unsigned by = unsigned(mixed(more) % 64);
  if (style == 1) value = more & 255;
  if (style == 2) value = -(more & 255);
  if (style == 3) value = more >> by;
  if (style == 4) value = -(more >> by);
  if (style == 5) value = before ^ (more & 3);
  value &= all;
  return value == 0 && kind >= nonzero_s16 && kind <= nonzero_u64 ? 1 : value;
}

void fill(const Form& form, int number, Operands* cases) {
  std::vector<uint64_t> lists[4];
  int count = 0;
  for (; count < 4 && form.operands[count] != none; ++count)
    lists[count] = edges(form.operands[count]);
  const size_t first = lists[0].size(), second = count > 1 ? lists[1].size() : 1;
  for (int i = 0; i < kCases; ++i) {
    const uint64_t seed = mixed(mixed(uint64_t(number)) + uint64_t(i));
    const uint64_t warp = mixed(uint64_t(number) * 1000 + uint64_t(i / 32));
    uint64_t before = 0;
    for (int k = 0; k < count; ++k) {
      const size_t size = lists[k].size();
      uint64_t& value = cases[i].of[k];
      value = random_operand(form.operands[k], mixed(seed + uint64_t(k)), before, warp);
      if (i < kEdges && size != 0) {
        if (count > 2) {
          value = lists[k][mixed(seed + 10 + uint64_t(k)) % size];
        } else if (size_t(i) < first * second || first * second > size_t(kEdges)) {
          const size_t pair =
              first * second > size_t(kEdges) ? size_t(i) * (first * second) / kEdges : size_t(i);
          value = lists[k][k == 0 ? pair % first : pair / first];
        }
      }
      before = value;
    }
  }
}

// ---- what is compared ----------------------------------------------------------------------------

// Of a result, 0 is the lower half of a pair, or all there is.
double decoded(Kind kind, uint64_t bits, int half = 0) {
  const auto small = [](unsigned bits, int fraction, int bias) {
    const int width = 15 - fraction, exponent = int(bits >> fraction & ((1u << width) - 1));
    const double sign = bits >> 15 & 1 ? -1 : 1, rest = bits & ((1u << fraction) - 1);
    if (exponent == (1 << width) - 1) return rest != 0 ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * std::ldexp(rest, 1 - bias - fraction);
    return sign * std::ldexp(rest + (1 << fraction), exponent - bias - fraction);
  };
  switch (kind) {
    case f32: return same_bits<float>(uint32_t(bits));
    case f64: return same_bits<double>(bits);
    case f16:
    case f16x2: return small(unsigned(bits >> (16 * half) & 0xffff), 10, 15);
    case bf16:
    case bf16x2: return small(unsigned(bits >> (16 * half) & 0xffff), 7, 127);
    default: return 0;
  }
}

// Which NaN an operation of float or double gives is nothing that a program can rely on: all count
// as one. Those of 16 bits are kept as they are.
uint64_t tidy(Kind kind, uint64_t bits) {
  if (kind == f32 && std::isnan(decoded(kind, bits))) return 0x7fffffff;
  if (kind == f64 && std::isnan(decoded(kind, bits))) return 0x7fffffffffffffff;
  return bits;
}

// What is documented as approximate: the function, and how far off it may be. The sum of both
// bounds counts, where |x| of the first operand lies in this range; elsewhere nothing is said.
struct Approximation {
  const char* name;
  double (*value)(const double*);
  double relative, absolute;
  double least = 0, most = INFINITY;
};
constexpr double kUlp = 0x1p-23, kDoubleUlp = 0x1p-52, kPi = 3.14159265358979323846;
// Of a multiple of pi. In long double, since near a zero of the function the rest of x counts.
double times_pi(long double (*function)(long double), double x) {
  if (std::isinf(x)) return NAN;
  const double part = std::fmod(x, 2.0);
  return double(function(part * 3.14159265358979323846264338327950288L));
}
// Of the operands x, y, z, w.
#define OF(...)                                                     \
  [](const double* of) {                                            \
    const double x = of[0], y = of[1], z = of[2], w = of[3];        \
    return (void)x, (void)y, (void)z, (void)w, double(__VA_ARGS__); \
  }
const double kSinBound = 0x1p-20;  // 2^-20.5, and the float is rounded
const Approximation kApproximations[] = {
    {"ex2.approx.f32", OF(std::exp2(x)), 2 * kUlp, 0},
    {"ex2.approx.ftz.f32", OF(std::exp2(x)), 2 * kUlp, 0},
    {"ex2.approx.f16", OF(std::exp2(x)), 0x1p-9, 0},
    {"ex2.approx.f16x2", OF(std::exp2(x)), 0x1p-9, 0},
    {"ex2.approx.ftz.bf16", OF(std::exp2(x)), 0x1p-7, 0},
    {"ex2.approx.ftz.bf16x2", OF(std::exp2(x)), 0x1p-7, 0},
    {"tanh.approx.f32", OF(std::tanh(x)), 0x1p-11, 0},
    {"tanh.approx.f16", OF(std::tanh(x)), 0, 0x1p-10},
    {"tanh.approx.f16x2", OF(std::tanh(x)), 0, 0x1p-10},
    {"tanh.approx.bf16", OF(std::tanh(x)), 0x1p-7, 0},
    {"tanh.approx.bf16x2", OF(std::tanh(x)), 0x1p-7, 0},
    {"lg2.approx.f32", OF(std::log2(x)), 0x1p-22, 0x1p-22},
    {"lg2.approx.ftz.f32", OF(std::log2(x)), 0x1p-22, 0x1p-22},
    {"sin.approx.f32", OF(std::sin(x)), 0, kSinBound, 0, 2 * kPi},
    {"sin.approx.ftz.f32", OF(std::sin(x)), 0, kSinBound, 0, 2 * kPi},
    {"cos.approx.f32", OF(std::cos(x)), 0, kSinBound, 0, 2 * kPi},
    {"cos.approx.ftz.f32", OF(std::cos(x)), 0, kSinBound, 0, 2 * kPi},
    {"rcp.approx.f32", OF(1 / x), kUlp, 0},
    {"rcp.approx.ftz.f32", OF(1 / x), kUlp, 0},
    {"rcp.approx.ftz.f64", OF(1 / x), 0x1p-19, 0},
    {"rsqrt.approx.f32", OF(1 / std::sqrt(x)), 0x1p-22, 0},
    {"rsqrt.approx.ftz.f32", OF(1 / std::sqrt(x)), 0x1p-22, 0},
    {"rsqrt.approx.ftz.f64", OF(1 / std::sqrt(x)), 0x1p-19, 0},
    {"rsqrt.approx.f64", OF(1 / std::sqrt(x)), 0x1p-19, 0},
    {"sqrt.approx.f32", OF(std::sqrt(x)), 0x1p-22, 0},
    {"sqrt.approx.ftz.f32", OF(std::sqrt(x)), 0x1p-22, 0},
    {"div.approx.f32", OF(x / y), 2 * kUlp, 0},
    {"div.approx.ftz.f32", OF(x / y), 2 * kUlp, 0},
    {"div.full.f32", OF(x / y), 2 * kUlp, 0},
    {"div.full.ftz.f32", OF(x / y), 2 * kUlp, 0},
    {"__sinf", OF(std::sin(x)), 0, kSinBound, 0, kPi},
    {"__cosf", OF(std::cos(x)), 0, kSinBound, 0, kPi},
    {"__tanf", OF(std::tan(x)), 0x1p-18, 0x1p-18, 0, kPi / 4},
    {"__expf", OF(std::exp(x)), 0x1p-15, 0},  // 2 + |1.173 x| ulp, x up to 89
    {"__exp10f", OF(exp10(x)), 0x1p-15, 0},   // 2 + |2.97 x| ulp, x up to 39
    {"__logf", OF(std::log(x)), 3 * kUlp, 0x1p-21},
    {"__log2f", OF(std::log2(x)), 2 * kUlp, 0x1p-22},
    {"__log10f", OF(std::log10(x)), 3 * kUlp, 0x1p-22},
    {"__tanhf", OF(std::tanh(x)), 0x1p-11, 0},
    {"__powf", OF(std::exp2(y* std::log2(x))), 0x1p-13, 0},
    {"__fdividef", OF(x / y), 2 * kUlp, 0},
    {"fdividef", OF(x / y), 2 * kUlp, 0},
    {"rsqrtf", OF(1 / std::sqrt(x)), 2 * kUlp, 0},
    {"rsqrt", OF(1 / std::sqrt(x)), 2 * kDoubleUlp, 0},
    {"rcbrtf", OF(1 / std::cbrt(x)), 2 * kUlp, 0},
    {"rcbrt", OF(1 / std::cbrt(x)), 3 * kDoubleUlp, 0},
    {"rhypotf", OF(1 / std::hypot(x, y)), 2 * kUlp, 0},
    {"norm3df", OF(std::hypot(std::hypot(x, y), z)), 3 * kUlp, 0},
    {"norm3d", OF(std::hypot(std::hypot(x, y), z)), 4 * kDoubleUlp, 0},
    {"norm4df", OF(std::hypot(std::hypot(x, y), std::hypot(z, w))), 3 * kUlp, 0},
    {"rnorm3df", OF(1 / std::hypot(std::hypot(x, y), z)), 2 * kUlp, 0},
    {"sinpi", OF(times_pi(sinl, x)), 4 * kDoubleUlp, 0x1p-52},
    {"cospi", OF(times_pi(cosl, x)), 4 * kDoubleUlp, 0x1p-52},
    {"sinpif", OF(times_pi(sinl, x)), 2 * kUlp, 0x1p-52},
    {"cospif", OF(times_pi(cosl, x)), 2 * kUlp, 0x1p-52},
    {"normcdf", OF(0.5 * std::erfc(-x * M_SQRT1_2)), 0x1p-41, 0},
    {"normcdff", OF(0.5 * std::erfc(-x * M_SQRT1_2)), 5 * kUlp, 0},
};
const Approximation* approximation_of(const Form& form) {
  for (const Approximation& each : kApproximations)
    if (strcmp(each.name, form.name) == 0) return &each;
  return nullptr;
}

// How much of what is allowed an approximation is off; over 1 is wrong.
double share_of_bound(const Form& form, const Approximation& known, const Operands& in,
                      uint64_t bits) {
  const bool pair = form.result == f16x2 || form.result == bf16x2;
  const bool flushes = strstr(form.name, ".ftz") || strncmp(form.name, "__", 2) == 0;
  const double tiniest = form.result == f64                           ? 0x1p-1022
                         : form.result == f16 || form.result == f16x2 ? 0x1p-14
                                                                      : 0x1p-126;
  const double largest = form.result == f64                           ? 0x1.fffffffffffffp1023
                         : form.result == f16 || form.result == f16x2 ? 65504
                                                                      : 0x1.fffffep127;
  const double step = tiniest * (form.result == f64                             ? kDoubleUlp
                                 : form.result == f32                           ? kUlp
                                 : form.result == bf16 || form.result == bf16x2 ? 0x1p-7
                                                                                : 0x1p-10);
  double worst = 0;
  for (int half = 0; half < (pair ? 2 : 1); ++half) {
    double x[4] = {};
    bool tiny = false;
    for (int k = 0; k < 4 && form.operands[k] != none; ++k) {
      x[k] = decoded(form.operands[k], in.of[k], half);
      if (std::isnan(x[k])) x[k] = NAN;  // a quiet one
      tiny |= x[k] != 0 && std::fabs(x[k]) < tiniest;
    }
    if (tiny && flushes) continue;  // as zero or as it is
    if (strstr(form.name, "div") && strstr(form.name, "full") == nullptr &&
        !(std::fabs(x[1]) <= 0x1p126))
      continue;
    if (strcmp(form.name, "__powf") == 0 && std::fabs(x[1]) > 256) continue;
    if (!(std::fabs(x[0]) >= known.least && std::fabs(x[0]) <= known.most)) continue;
    const double is = decoded(form.result, bits, half), should = known.value(x);
    if (std::isnan(should) || std::isnan(is)) {
      if (std::isnan(should) != std::isnan(is)) worst = INFINITY;
      continue;
    }
    if (std::isinf(is) || std::fabs(should) > largest) {
      const bool close =
          std::fabs(should) >= largest * (1 - 0x1p-8) && std::fabs(is) >= largest * (1 - 0x1p-8);
      if (!close || std::signbit(is) != std::signbit(should)) worst = INFINITY;
      continue;
    }
    const double bound =
        std::fabs(should) * known.relative + known.absolute + (flushes ? tiniest : step);
    worst = std::max(worst, std::fabs(is - should) / bound);
  }
  return worst;
}

bool is_left_out(const Form& form, const Operands& in) {
  return is_divisor(form.operands[1]) && in.of[1] == 0;
}

uint64_t hash(const Form& form, const Operands* in, const Results* results, int count) {
  uint64_t sum = 0xcbf29ce484222325u;  // FNV-1a, a result at a time
  const auto add = [&](uint64_t bits) { sum = (sum ^ tidy(form.result, bits)) * 0x100000001b3u; };
  for (int i = 0; i < count; ++i) {
    if (is_left_out(form, in[i])) continue;
    add(results[i].low);
    if (form.twice) add(results[i].high);
  }
  return sum;
}

std::vector<Results> computed(const std::vector<Form>& forms, const std::vector<Operands>& in,
                              int cases) {
  const size_t number = forms.size();
  std::vector<int> indices(number), groups(number);
  for (size_t i = 0; i < number; ++i) indices[i] = int(i), groups[i] = forms[i].group;
  int* const device_indices = device_array<int>(number);
  int* const device_groups = device_array<int>(number);
  Operands* const device_in = device_array<Operands>(in.size());
  uint64_t* const cells = device_array<uint64_t>(in.size());
  Results* const device_out = device_array<Results>(in.size());
  check(cudaMemcpy(device_indices, indices.data(), number * sizeof(int), cudaMemcpyDefault));
  check(cudaMemcpy(device_groups, groups.data(), number * sizeof(int), cudaMemcpyDefault));
  check(cudaMemcpy(device_in, in.data(), in.size() * sizeof(Operands), cudaMemcpyDefault));
  check(cudaMemset(cells, 0, in.size() * sizeof(uint64_t)));
  carry_out<<<unsigned(number), kThreads>>>(device_indices, device_groups, cases, device_in, cells,
                                            device_out);
  check(cudaGetLastError());
  std::vector<Results> out(in.size());
  check(cudaMemcpy(out.data(), device_out, out.size() * sizeof(Results), cudaMemcpyDefault));
  for (void* data : {(void*)device_indices, (void*)device_groups, (void*)device_in, (void*)cells,
                     (void*)device_out})
    check(cudaFree(data));
  return out;
}

// All results, bit for bit: of each form kCases, each as wide as its type.
bool write_values(const std::string& path, const std::vector<Form>& forms,
                  const std::vector<Results>& out, int cases) {
  FILE* file = fopen(path.c_str(), "wb");
  if (!file) return false;
  for (size_t i = 0; i < out.size(); ++i) {
    const Form& form = forms[i / size_t(cases)];
    const size_t bytes = size_t(bytes_of(form.result));
    fwrite(&out[i].low, bytes, 1, file);
    if (form.twice) fwrite(&out[i].high, bytes, 1, file);
  }
  return fclose(file) == 0;
}
bool read_values(const std::string& path, const std::vector<Form>& forms,
                 std::vector<Results>* out) {
  FILE* file = fopen(path.c_str(), "rb");
  if (!file) return false;
  out->assign(forms.size() * kCases, Results{});
  bool all = true;
  for (size_t i = 0; all && i < out->size(); ++i) {
    const Form& form = forms[i / kCases];
    const size_t bytes = size_t(bytes_of(form.result));
    all = fread(&(*out)[i].low, bytes, 1, file) == 1;
    if (form.twice) all &= fread(&(*out)[i].high, bytes, 1, file) == 1;
  }
  all &= fgetc(file) == EOF;
  fclose(file);
  return all;
}

// What a recording says of a form: the hashes of the first kFew cases and of all.
struct Known {
  unsigned long long few, all;
};

void print_case(const Form& form, const Operands& in, const Results& is, const Results* should) {
  printf("    of");
  for (int k = 0; k < 4 && form.operands[k] != none; ++k)
    printf(" %0*llx", 2 * bytes_of(form.operands[k]), (unsigned long long)in.of[k]);
  const int digits = 2 * bytes_of(form.result);
  printf(": %0*llx", digits, (unsigned long long)is.low);
  if (form.twice) printf(" %0*llx", digits, (unsigned long long)is.high);
  if (should) printf(", and not %0*llx", digits, (unsigned long long)should->low);
  if (should && form.twice) printf(" %0*llx", digits, (unsigned long long)should->high);
  printf("\n");
}

int usage() {
  fprintf(stderr,
          "instructions [--few] [--form PART_OF_A_NAME] [--values FILE] [--hashes FILE]\n"
          "             [--compare FILE] [--against VALUES] [--from VALUES]\n");
  return 2;
}

}  // namespace

int main(int count, char** words) {
  std::map<std::string, std::string> options;
  int cases = kCases;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--few") {
      cases = kFew;
      continue;
    }
    const bool is_known = word == "--form" || word == "--values" || word == "--hashes" ||
                          word == "--compare" || word == "--against" || word == "--from";
    if (!is_known || i + 1 == count) return usage();
    options[word] = words[++i];
  }
  if (cases != kCases && (options.count("--values") || options.count("--hashes"))) return usage();

  std::vector<Form> forms;
  std::vector<const char*> titles;
  for (Form form : kTable) {
    if (form.group == 1) {
      titles.push_back(form.name);
    } else {
      form.group = int(titles.size()) - 1;
      forms.push_back(form);
    }
  }
  const size_t number = forms.size();
  std::vector<Operands> in(number * cases, Operands{}), all(kCases);
  for (size_t i = 0; i < number; ++i) {
    std::fill(all.begin(), all.end(), Operands{});
    fill(forms[i], int(i), all.data());
    std::copy_n(all.begin(), cases, in.begin() + i * cases);
  }
  std::map<std::string, Known> known;
  if (options.count("--compare")) {
    FILE* file = fopen(options["--compare"].c_str(), "r");
    if (!file) return usage();
    Known one;
    char name[100];
    while (fscanf(file, "%llx %llx %99[^\n]", &one.few, &one.all, name) == 3) known[name] = one;
    fclose(file);
  }
  std::vector<Results> out, other;
  if (options.count("--against") && !read_values(options["--against"], forms, &other))
    return usage();
  if (options.count("--from")) {
    if (!read_values(options["--from"], forms, &out)) return usage();
    for (size_t i = 0; i < number; ++i)
      std::copy_n(out.begin() + i * kCases, cases, out.begin() + i * cases);
    out.resize(number * cases);
  } else {
    out = computed(forms, in, cases);
  }
  if (options.count("--values") && !write_values(options["--values"], forms, out, cases))
    return usage();
  FILE* hashes = options.count("--hashes") ? fopen(options["--hashes"].c_str(), "w") : nullptr;

  struct Sum {
    int forms = 0, exact = 0, wrong = 0;
  };
  std::vector<Sum> sums(titles.size());
  for (size_t i = 0; i < number; ++i) {
    const Form& form = forms[i];
    if (!strstr(form.name, options["--form"].c_str())) continue;
    const Approximation* approximation = approximation_of(form);
    Sum& sum = sums[form.group];
    ++sum.forms;
    sum.exact += approximation == nullptr;
    const size_t first = i * cases;
    int told = 0, unequal = 0;
    bool wrong = false;
    if (approximation) {
      double worst = 0;
      for (int j = 0; j < cases; ++j) {
        const double share =
            share_of_bound(form, *approximation, in[first + j], out[first + j].low);
        worst = std::max(worst, share);
        if (!(share <= 1) && told++ < 4) print_case(form, in[first + j], out[first + j], nullptr);
      }
      wrong = !(worst <= 1);
      printf("%s: %s, at most %.3f of what is allowed\n", form.name,
             wrong ? "WRONG" : "within its bound", worst);
    } else {
      const uint64_t few = hash(form, &in[first], &out[first], kFew),
                     whole = hash(form, &in[first], &out[first], cases);
      if (hashes)
        fprintf(hashes, "%016llx %016llx %s\n", (unsigned long long)few, (unsigned long long)whole,
                form.name);
      const auto found = known.find(form.name);
      if (options.count("--compare")) {
        wrong = found == known.end() || found->second.few != few ||
                (cases == kCases && found->second.all != whole);
      }
      for (int j = 0; !other.empty() && j < cases; ++j) {
        const Results &is = out[first + j], &should = other[i * kCases + j];
        if (is_left_out(form, in[first + j])) continue;
        if (tidy(form.result, is.low) == tidy(form.result, should.low) &&
            (!form.twice || tidy(form.result, is.high) == tidy(form.result, should.high)))
          continue;
        ++unequal;
        if (told++ < 4) print_case(form, in[first + j], is, &should);
      }
      wrong |= unequal != 0;
      printf("%s: %016llx%s", form.name, (unsigned long long)whole, wrong ? ", UNEQUAL" : "");
      if (unequal) printf(" in %d cases", unequal);
      printf("\n");
    }
    sum.wrong += wrong;
  }
  if (hashes) fclose(hashes);
  Sum whole;
  for (size_t i = 0; i < titles.size(); ++i) {
    const Sum& sum = sums[i];
    if (sum.forms == 0) continue;
    printf("%-52s %4d forms, %8d cases, %4d exact, %2d approximate, %3d wrong\n", titles[i],
           sum.forms, sum.forms * cases, sum.exact, sum.forms - sum.exact, sum.wrong);
    whole.forms += sum.forms, whole.wrong += sum.wrong;
  }
  printf("%d forms, %d of them wrong\n", whole.forms, whole.wrong);
  return whole.wrong != 0 || whole.forms == 0;
}
