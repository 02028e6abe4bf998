// How the tensor cores round: D = A B + C by every form of wgmma, mma.sync and WMMA with floats, on
// random numbers and on edge cases, compared bit for bit with simt's model (simt/src/tensor_sum.h).
//
//   nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a tensor_sums.cu
//   ../../src/tensor_sum.cpp
//
// Cases come in tiles of 64 rows of A, 64 columns of B and 64 x 64 numbers C: 4096 cases. Of a row
// or column 32 bytes are used, or 16 by the instructions with half the k. See README.md.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../../src/tensor_sum.h"

namespace {

using simt::Instruction;
using simt::Number;

#define CHECK(call)                                                                             \
  do {                                                                                          \
    const cudaError_t error = (call);                                                           \
    if (error != cudaSuccess) {                                                                 \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
      exit(1);                                                                                  \
    }                                                                                           \
  } while (0)

constexpr int kSide = 64, kBytes = 32, kCases = kSide * kSide;

struct Tile {
  unsigned char a[kSide][kBytes], b[kSide][kBytes];  // B by columns
  uint32_t c[kSide][kSide];                          // the bits of floats, or of halves
};

// ---- the instructions ---------------------------------------------------------------------------

__device__ uint64_t descriptor(const void* shared) {  // K-major, no swizzle
  const uint64_t address = __cvta_generic_to_shared(shared);
  return (address & 0x3ffff) >> 4 | uint64_t(128 >> 4) << 16 | uint64_t(256 >> 4) << 32;
}

#define D4(c, at) "+" c(d[at]), "+" c(d[at + 1]), "+" c(d[at + 2]), "+" c(d[at + 3])
#define D16(c, at) D4(c, at), D4(c, at + 4), D4(c, at + 8), D4(c, at + 12)
#define NAMES16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define NAMES32 \
  NAMES16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_F32(name, kind, more)                                                          \
  struct name {                                                                              \
    static constexpr bool kHalf = false;                                                     \
    static __device__ void run(float (&d)[32], uint64_t a, uint64_t b) {                     \
      asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned." kind \
                   " {" NAMES32 "}, %32, %33, p, 1, 1" more "; }"                            \
                   : D16("f", 0), D16("f", 16)                                               \
                   : "l"(a), "l"(b));                                                        \
    }                                                                                        \
  }
#define WGMMA_F16(name, kind, more)                                                          \
  struct name {                                                                              \
    static constexpr bool kHalf = true;                                                      \
    static __device__ void run(unsigned (&d)[16], uint64_t a, uint64_t b) {                  \
      asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned." kind \
                   " {" NAMES16 "}, %16, %17, p, 1, 1" more "; }"                            \
                   : D16("r", 0)                                                             \
                   : "l"(a), "l"(b));                                                        \
    }                                                                                        \
  }
WGMMA_F32(WgmmaE4m3E4m3, "m64n64k32.f32.e4m3.e4m3", "");
WGMMA_F32(WgmmaE4m3E5m2, "m64n64k32.f32.e4m3.e5m2", "");
WGMMA_F32(WgmmaE5m2E4m3, "m64n64k32.f32.e5m2.e4m3", "");
WGMMA_F32(WgmmaE5m2E5m2, "m64n64k32.f32.e5m2.e5m2", "");
WGMMA_F16(WgmmaE4m3E4m3Half, "m64n64k32.f16.e4m3.e4m3", "");
WGMMA_F16(WgmmaE4m3E5m2Half, "m64n64k32.f16.e4m3.e5m2", "");
WGMMA_F16(WgmmaE5m2E4m3Half, "m64n64k32.f16.e5m2.e4m3", "");
WGMMA_F16(WgmmaE5m2E5m2Half, "m64n64k32.f16.e5m2.e5m2", "");
WGMMA_F32(WgmmaBf16, "m64n64k16.f32.bf16.bf16", ", 0, 0");
WGMMA_F32(WgmmaF16, "m64n64k16.f32.f16.f16", ", 0, 0");
WGMMA_F16(WgmmaF16Half, "m64n64k16.f16.f16.f16", ", 0, 0");
WGMMA_F32(WgmmaTf32, "m64n64k8.f32.tf32.tf32", "");

// A block of 128 threads multiplies a tile.
template <class Instruction>
__global__ void __launch_bounds__(128) wgmma_tiles(const Tile* tiles, uint32_t* out) {
  __shared__ alignas(128) unsigned char a[kSide * kBytes], b[kSide * kBytes];
  const Tile& tile = tiles[blockIdx.x];
  out += size_t(blockIdx.x) * kCases;
  for (int i = threadIdx.x; i < kSide * kBytes; i += blockDim.x) {
    const int row = i / kBytes, byte = i % kBytes;
    const int to = row % 8 * 16 + row / 8 * 256 + byte / 16 * 128 + byte % 16;
    a[to] = tile.a[row][byte];
    b[to] = tile.b[row][byte];
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4, column = lane % 4 * 2;
  const auto begin = [] { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); };
  const auto end = [] {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  };
  if constexpr (Instruction::kHalf) {
    unsigned d[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const uint32_t* c = &tile.c[row + i % 2 * 8][i / 2 * 8 + column];
      d[i] = c[0] | c[1] << 16;
    }
    begin();
    Instruction::run(d, descriptor(a), descriptor(b));
    end();
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      uint32_t* to = &out[(row + i % 2 * 8) * kSide + i / 2 * 8 + column];
      to[0] = d[i] & 0xffff;
      to[1] = d[i] >> 16;
    }
  } else {
    float d[32];
#pragma unroll
    for (int i = 0; i < 32; ++i)
      d[i] = __uint_as_float(tile.c[row + i / 2 % 2 * 8][i / 4 * 8 + column + i % 2]);
    begin();
    Instruction::run(d, descriptor(a), descriptor(b));
    end();
#pragma unroll
    for (int i = 0; i < 32; ++i)
      out[(row + i / 2 % 2 * 8) * kSide + i / 4 * 8 + column + i % 2] = __float_as_uint(d[i]);
  }
}

// A: 16 rows, two or four registers; D: four floats or four halves.
#define MMA_LONG(name, kind)                                                             \
  struct name {                                                                          \
    static constexpr bool kHalf = false, kShort = false;                                 \
    static __device__ void run(unsigned (&d)[4], const unsigned* a, const unsigned* b) { \
      asm volatile("mma.sync.aligned." kind                                              \
                   " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"    \
                   : D4("r", 0)                                                          \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));  \
    }                                                                                    \
  }
#define MMA_LONG_HALF(name, kind)                                                              \
  struct name {                                                                                \
    static constexpr bool kHalf = true, kShort = false;                                        \
    static __device__ void run(unsigned (&d)[4], const unsigned* a, const unsigned* b) {       \
      asm volatile("mma.sync.aligned." kind " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};" \
                   : "+r"(d[0]), "+r"(d[1])                                                    \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));        \
    }                                                                                          \
  }
#define MMA_SHORT(name, kind)                                                                      \
  struct name {                                                                                    \
    static constexpr bool kHalf = false, kShort = true;                                            \
    static __device__ void run(unsigned (&d)[4], const unsigned* a, const unsigned* b) {           \
      asm volatile("mma.sync.aligned." kind " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};" \
                   : D4("r", 0)                                                                    \
                   : "r"(a[0]), "r"(a[1]), "r"(b[0]));                                             \
    }                                                                                              \
  }
#define MMA_SHORT_HALF(name, kind)                                                       \
  struct name {                                                                          \
    static constexpr bool kHalf = true, kShort = true;                                   \
    static __device__ void run(unsigned (&d)[4], const unsigned* a, const unsigned* b) { \
      asm volatile("mma.sync.aligned." kind " {%0, %1}, {%2, %3}, {%4}, {%0, %1};"       \
                   : "+r"(d[0]), "+r"(d[1])                                              \
                   : "r"(a[0]), "r"(a[1]), "r"(b[0]));                                   \
    }                                                                                    \
  }
MMA_LONG(MmaE4m3E4m3, "m16n8k32.row.col.f32.e4m3.e4m3.f32");
MMA_LONG(MmaE4m3E5m2, "m16n8k32.row.col.f32.e4m3.e5m2.f32");
MMA_LONG(MmaE5m2E4m3, "m16n8k32.row.col.f32.e5m2.e4m3.f32");
MMA_LONG(MmaE5m2E5m2, "m16n8k32.row.col.f32.e5m2.e5m2.f32");
MMA_LONG_HALF(MmaE4m3E4m3Half, "m16n8k32.row.col.f16.e4m3.e4m3.f16");
MMA_LONG_HALF(MmaE4m3E5m2Half, "m16n8k32.row.col.f16.e4m3.e5m2.f16");
MMA_LONG_HALF(MmaE5m2E4m3Half, "m16n8k32.row.col.f16.e5m2.e4m3.f16");
MMA_LONG_HALF(MmaE5m2E5m2Half, "m16n8k32.row.col.f16.e5m2.e5m2.f16");
MMA_LONG(MmaBf16, "m16n8k16.row.col.f32.bf16.bf16.f32");
MMA_LONG(MmaF16, "m16n8k16.row.col.f32.f16.f16.f32");
MMA_LONG_HALF(MmaF16Half, "m16n8k16.row.col.f16.f16.f16.f16");
MMA_LONG(MmaTf32, "m16n8k8.row.col.f32.tf32.tf32.f32");
MMA_SHORT(MmaShortBf16, "m16n8k8.row.col.f32.bf16.bf16.f32");
MMA_SHORT(MmaShortF16, "m16n8k8.row.col.f32.f16.f16.f32");
MMA_SHORT_HALF(MmaShortF16Half, "m16n8k8.row.col.f16.f16.f16.f16");
MMA_SHORT(MmaShortTf32, "m16n8k4.row.col.f32.tf32.tf32.f32");

// A block of 1024 threads multiplies a tile; each warp 16 rows by 8 columns.
template <class Instruction>
__global__ void __launch_bounds__(1024) mma_tiles(const Tile* tiles, uint32_t* out) {
  const Tile& tile = tiles[blockIdx.x];
  out += size_t(blockIdx.x) * kCases;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = warp / 8 * 16 + lane / 4, first_column = warp % 8 * 8;
  unsigned a[4], b[2], d[4] = {};
  for (int i = 0; i < (Instruction::kShort ? 2 : 4); ++i)
    memcpy(&a[i], &tile.a[row + i % 2 * 8][lane % 4 * 4 + i / 2 * 16], 4);
  for (int i = 0; i < (Instruction::kShort ? 1 : 2); ++i)
    memcpy(&b[i], &tile.b[first_column + lane / 4][lane % 4 * 4 + i * 16], 4);
  const auto place = [&](int i) {
    return (row + i / 2 * 8) * kSide + first_column + lane % 4 * 2 + i % 2;
  };
  const uint32_t* c = &tile.c[0][0];
  for (int i = 0; i < 4; ++i) {
    if (Instruction::kHalf)
      d[i / 2] |= c[place(i)] << 16 * (i % 2);
    else
      d[i] = c[place(i)];
  }
  Instruction::run(d, a, b);
  for (int i = 0; i < 4; ++i)
    out[place(i)] = Instruction::kHalf ? d[i / 2] >> 16 * (i % 2) & 0xffff : d[i];
}

// A block of 512 threads multiplies a tile; each warp 16 rows by 16 columns.
template <class Input, class Stored, class Sum, int kK>
__global__ void __launch_bounds__(512) wmma_tiles(const Tile* tiles, uint32_t* out) {
  using namespace nvcuda;
  __shared__ alignas(128) Sum sums[kCases];
  const Tile& tile = tiles[blockIdx.x];
  out += size_t(blockIdx.x) * kCases;
  for (int i = threadIdx.x; i < kCases; i += blockDim.x) {
    if constexpr (sizeof(Sum) == 2)
      sums[i] = __ushort_as_half(static_cast<unsigned short>(tile.c[i / kSide][i % kSide]));
    else
      sums[i] = __uint_as_float(tile.c[i / kSide][i % kSide]);
  }
  __syncthreads();
  const int warp = threadIdx.x / 32, row = warp / 4 * 16, column = warp % 4 * 16;
  constexpr int kLength = kBytes / sizeof(Stored);
  wmma::fragment<wmma::matrix_a, 16, 16, kK, Input, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, kK, Input, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, kK, Sum> d;
  wmma::load_matrix_sync(a, reinterpret_cast<const Stored*>(tile.a[row]), kLength);
  wmma::load_matrix_sync(b, reinterpret_cast<const Stored*>(tile.b[column]), kLength);
  wmma::load_matrix_sync(d, &sums[row * kSide + column], kSide, wmma::mem_row_major);
  wmma::mma_sync(d, a, b, d);
  wmma::store_matrix_sync(&sums[row * kSide + column], d, kSide, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < kCases; i += blockDim.x) {
    if constexpr (sizeof(Sum) == 2)
      out[i] = __half_as_ushort(sums[i]);
    else
      out[i] = __float_as_uint(sums[i]);
  }
}

struct Form {
  const char* name;
  Number a, b;
  bool half;
  Instruction instruction;
  int bytes;  // of a row or column
  void (*kernel)(const Tile*, uint32_t*);
  int threads;
};
constexpr Number kE4m3 = Number::e4m3, kE5m2 = Number::e5m2, kF16 = Number::f16,
                 kBf16 = Number::bf16, kTf32 = Number::tf32;
constexpr Instruction kWgmma = Instruction::wgmma, kMma = Instruction::mma_sync,
                      kWmma = Instruction::wmma;
const Form kForms[] = {
    {"wgmma.k32.f32.e4m3.e4m3", kE4m3, kE4m3, false, kWgmma, 32, wgmma_tiles<WgmmaE4m3E4m3>, 128},
    {"wgmma.k32.f32.e4m3.e5m2", kE4m3, kE5m2, false, kWgmma, 32, wgmma_tiles<WgmmaE4m3E5m2>, 128},
    {"wgmma.k32.f32.e5m2.e4m3", kE5m2, kE4m3, false, kWgmma, 32, wgmma_tiles<WgmmaE5m2E4m3>, 128},
    {"wgmma.k32.f32.e5m2.e5m2", kE5m2, kE5m2, false, kWgmma, 32, wgmma_tiles<WgmmaE5m2E5m2>, 128},
    {"wgmma.k32.f16.e4m3.e4m3", kE4m3, kE4m3, true, kWgmma, 32, wgmma_tiles<WgmmaE4m3E4m3Half>,
     128},
    {"wgmma.k32.f16.e4m3.e5m2", kE4m3, kE5m2, true, kWgmma, 32, wgmma_tiles<WgmmaE4m3E5m2Half>,
     128},
    {"wgmma.k32.f16.e5m2.e4m3", kE5m2, kE4m3, true, kWgmma, 32, wgmma_tiles<WgmmaE5m2E4m3Half>,
     128},
    {"wgmma.k32.f16.e5m2.e5m2", kE5m2, kE5m2, true, kWgmma, 32, wgmma_tiles<WgmmaE5m2E5m2Half>,
     128},
    {"wgmma.k16.f32.bf16", kBf16, kBf16, false, kWgmma, 32, wgmma_tiles<WgmmaBf16>, 128},
    {"wgmma.k16.f32.f16", kF16, kF16, false, kWgmma, 32, wgmma_tiles<WgmmaF16>, 128},
    {"wgmma.k16.f16.f16", kF16, kF16, true, kWgmma, 32, wgmma_tiles<WgmmaF16Half>, 128},
    {"wgmma.k8.f32.tf32", kTf32, kTf32, false, kWgmma, 32, wgmma_tiles<WgmmaTf32>, 128},
    {"mma.k32.f32.e4m3.e4m3", kE4m3, kE4m3, false, kMma, 32, mma_tiles<MmaE4m3E4m3>, 1024},
    {"mma.k32.f32.e4m3.e5m2", kE4m3, kE5m2, false, kMma, 32, mma_tiles<MmaE4m3E5m2>, 1024},
    {"mma.k32.f32.e5m2.e4m3", kE5m2, kE4m3, false, kMma, 32, mma_tiles<MmaE5m2E4m3>, 1024},
    {"mma.k32.f32.e5m2.e5m2", kE5m2, kE5m2, false, kMma, 32, mma_tiles<MmaE5m2E5m2>, 1024},
    {"mma.k32.f16.e4m3.e4m3", kE4m3, kE4m3, true, kMma, 32, mma_tiles<MmaE4m3E4m3Half>, 1024},
    {"mma.k32.f16.e4m3.e5m2", kE4m3, kE5m2, true, kMma, 32, mma_tiles<MmaE4m3E5m2Half>, 1024},
    {"mma.k32.f16.e5m2.e4m3", kE5m2, kE4m3, true, kMma, 32, mma_tiles<MmaE5m2E4m3Half>, 1024},
    {"mma.k32.f16.e5m2.e5m2", kE5m2, kE5m2, true, kMma, 32, mma_tiles<MmaE5m2E5m2Half>, 1024},
    {"mma.k16.f32.bf16", kBf16, kBf16, false, kMma, 32, mma_tiles<MmaBf16>, 1024},
    {"mma.k16.f32.f16", kF16, kF16, false, kMma, 32, mma_tiles<MmaF16>, 1024},
    {"mma.k16.f16.f16", kF16, kF16, true, kMma, 32, mma_tiles<MmaF16Half>, 1024},
    {"mma.k8.f32.tf32", kTf32, kTf32, false, kMma, 32, mma_tiles<MmaTf32>, 1024},
    {"mma.k8.f32.bf16", kBf16, kBf16, false, kMma, 16, mma_tiles<MmaShortBf16>, 1024},
    {"mma.k8.f32.f16", kF16, kF16, false, kMma, 16, mma_tiles<MmaShortF16>, 1024},
    {"mma.k8.f16.f16", kF16, kF16, true, kMma, 16, mma_tiles<MmaShortF16Half>, 1024},
    {"mma.k4.f32.tf32", kTf32, kTf32, false, kMma, 16, mma_tiles<MmaShortTf32>, 1024},
    {"wmma.k16.f32.bf16", kBf16, kBf16, false, kWmma, 32,
     wmma_tiles<__nv_bfloat16, __nv_bfloat16, float, 16>, 512},
    {"wmma.k16.f32.f16", kF16, kF16, false, kWmma, 32, wmma_tiles<half, half, float, 16>, 512},
    {"wmma.k16.f16.f16", kF16, kF16, true, kWmma, 32, wmma_tiles<half, half, half, 16>, 512},
    {"wmma.k8.f32.tf32", kTf32, kTf32, false, kWmma, 32,
     wmma_tiles<nvcuda::wmma::precision::tf32, float, float, 8>, 512},
};

// ---- numbers of all formats ---------------------------------------------------------------------

struct Format {
  int bytes, exponent_bits, fraction_bits;
  bool has_infinity;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int least() const { return 1 - bias(); }
  int most() const { return (1 << exponent_bits) - 1 - bias() - (has_infinity ? 1 : 0); }
  int bits() const { return 1 + exponent_bits + fraction_bits; }
};
constexpr Format kFloat{4, 8, 23, true}, kHalf{2, 5, 10, true};
Format format_of(Number n) {
  switch (n) {
    case Number::e4m3: return {1, 4, 3, false};
    case Number::e5m2: return {1, 5, 2, true};
    case Number::f16: return kHalf;
    case Number::bf16: return {2, 8, 7, true};
    default: return kFloat;  // of tf32 the lower 13 bits are ignored
  }
}

float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}
uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}

float decoded(const Format& f, uint32_t bits) {
  const uint32_t fraction = bits & ((1u << f.fraction_bits) - 1);
  const int exponent = int(bits >> f.fraction_bits & ((1u << f.exponent_bits) - 1));
  const bool negative = bits >> (f.bits() - 1) & 1;
  float value;
  if (f.has_infinity && exponent == (1 << f.exponent_bits) - 1)
    value = fraction ? NAN : INFINITY;
  else if (!f.has_infinity && exponent == 15 && fraction == 7)
    value = NAN;
  else if (exponent == 0)
    value = std::ldexp(float(fraction), f.least() - f.fraction_bits);
  else
    value =
        std::ldexp(float(fraction | 1u << f.fraction_bits), exponent - f.bias() - f.fraction_bits);
  return negative ? -value : value;
}

// 1.fraction * 2^exponent; too small ones are subnormal or zero, too large ones the largest.
uint32_t encoded(const Format& f, bool negative, int exponent, uint32_t fraction) {
  fraction &= (1u << f.fraction_bits) - 1;
  const uint32_t sign = uint32_t(negative) << (f.bits() - 1);
  if (exponent > f.most()) {
    exponent = f.most();
    fraction = (1u << f.fraction_bits) - 1;
  }
  if (!f.has_infinity && exponent == f.most() && fraction == 7) fraction = 6;
  if (exponent >= f.least())
    return sign | uint32_t(exponent + f.bias()) << f.fraction_bits | fraction;
  const int shift = std::min(f.least() - exponent, 31);
  return sign | (fraction | 1u << f.fraction_bits) >> shift;
}

uint32_t half_bits(float value) {  // a half, or NaN
  if (value != value) return 0x7fff;
  const uint32_t sign = bits_of(value) >> 16 & 0x8000;
  const float magnitude = std::fabs(value);
  if (magnitude >= 65536) return sign | 0x7c00;
  if (magnitude == 0) return sign;
  int exponent;
  const float fraction = std::frexp(magnitude, &exponent) * 2;  // [1, 2)
  return sign | encoded(kHalf, false, exponent - 1, uint32_t(fraction * 1024));
}

// ---- cases --------------------------------------------------------------------------------------

struct Random {
  uint64_t state;
  uint64_t next() {  // splitmix64
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  int between(int low, int high) { return low + int((next() >> 33) % uint64_t(high - low + 1)); }
  bool one_in(int n) { return between(1, n) == 1; }
};

enum Style {
  kBits,    // all bits random, but no infinity and no NaN
  kNear,    // exponents near zero
  kWide,    // exponents far apart
  kCancel,  // pairs of products cancel; what is left is small
  kEdge,    // one product is large, others end about where bits are cut off
  kLargeC,
  kSmallC,
  kSubnormal,  // zeros of both signs and subnormal numbers
  kSpecial,    // a few infinities and NaNs
  kHuge,       // sums that are too large
  kCarry,      // the same sign, all bits set
  kTies,       // few bits: halves are met in the middle
  kTiny,       // products whose exponents are too small for the result
  kSparse,     // most are zeros of either sign
  kStyles
};
const char* const kStyleNames[kStyles] = {"bits",    "near",    "wide",      "cancel",  "edge",
                                          "large_c", "small_c", "subnormal", "special", "huge",
                                          "carry",   "ties",    "tiny",      "sparse"};

struct Maker {
  Random& random;
  Format f;
  uint32_t number(int low, int high) {
    return encoded(f, random.next() & 1, random.between(low, high), uint32_t(random.next()));
  }
  uint32_t zero() { return uint32_t(random.next() & 1) << (f.bits() - 1); }
  uint32_t any() {
    for (;;) {
      const uint32_t bits = uint32_t(random.next()) & (f.bits() == 32 ? ~0u : (1u << f.bits()) - 1);
      if (std::isfinite(decoded(f, bits))) return bits;
    }
  }
  uint32_t infinity() {
    if (!f.has_infinity) return nan();
    return zero() | ((1u << f.exponent_bits) - 1) << f.fraction_bits;
  }
  uint32_t nan() {
    const uint32_t fraction = f.has_infinity ? 1u << random.between(0, f.fraction_bits - 1) : 7;
    return zero() | ((1u << f.exponent_bits) - 1) << f.fraction_bits | fraction;
  }
};

// Element i of a row of A or a column of B.
uint32_t element(Style style, Maker make, int i, int k, bool is_b, int kept_bits) {
  Random& random = make.random;
  const Format& f = make.f;
  const int least = f.least() - f.fraction_bits, most = f.most();
  switch (style) {
    case kBits: return make.any();
    case kNear: return make.number(-2, 2);
    case kWide: return make.number(std::max(least, -30), std::min(most, 30));
    case kEdge: {
      if (i == 0) return make.number(0, 0);
      const int below = kept_bits - 4 + (i * 5 + k) % 8;
      return make.number(is_b ? -below / 2 : -(below - below / 2),
                         is_b ? -below / 2 : 1 - below / 2);
    }
    case kLargeC: return make.number(-1, 1);
    case kSmallC: return make.number(-1, 1);
    case kSubnormal:
      return random.one_in(3)   ? make.zero()
             : random.one_in(4) ? make.number(0, 3)
                                : make.number(least, f.least());
    case kSpecial:
      return random.one_in(40)   ? make.infinity()
             : random.one_in(80) ? make.nan()
             : random.one_in(6)  ? make.zero()
                                 : make.number(-3, 3);
    case kHuge: {
      const int high = f.exponent_bits < 8 ? most : random.one_in(2) ? 65 : most;
      return make.number(high - 2, high);
    }
    case kCarry: return encoded(f, false, 0, random.one_in(4) ? uint32_t(random.next()) : ~0u);
    case kTies:
      return encoded(f, random.next() & 1, random.between(-3, 3),
                     uint32_t(random.next()) & (3u << (f.fraction_bits - 2)));
    case kTiny:
      return f.exponent_bits < 8 ? make.number(least, f.least() + 2) : make.number(-82, -58);
    case kSparse: return random.one_in(6) ? make.number(std::max(least, -20), 5) : make.zero();
    default: return make.number(-3, 3);
  }
}

uint32_t addend(Style style, Maker make) {
  Random& random = make.random;
  const int least = make.f.least() - make.f.fraction_bits, most = make.f.most();
  switch (style) {
    case kBits: return make.any();
    case kNear: return make.number(-5, 7);
    case kWide: return make.number(std::max(-62, least), std::min(62, most));
    case kCancel: return random.one_in(3) ? make.zero() : make.number(-30, 6);
    case kEdge: return random.one_in(3) ? make.zero() : make.number(-30, 2);
    case kLargeC: return make.number(0, 30);
    case kSmallC: return make.number(-30, 2);
    case kSubnormal: return random.one_in(2) ? make.zero() : make.number(least, make.f.least() + 1);
    case kSpecial:
      return random.one_in(30)   ? make.infinity()
             : random.one_in(60) ? make.nan()
                                 : make.number(-3, 3);
    case kHuge: return make.number(most - 3, most);
    case kCarry:
      return encoded(make.f, false, random.between(-1, 6),
                     random.one_in(2) ? uint32_t(random.next()) : ~0u);
    case kTies: return encoded(make.f, random.next() & 1, random.between(0, 9), 0);
    case kTiny: return random.one_in(2) ? make.zero() : make.number(least, make.f.least() + 12);
    default: return random.one_in(2) ? make.zero() : make.number(-20, 8);
  }
}

void put(unsigned char* row, int bytes, int i, uint32_t bits) {
  memcpy(row + i * bytes, &bits, bytes);
}

int k_of(const Form& form) { return form.bytes / format_of(form.a).bytes; }

void fill(const Form& form, int form_number, int block, Tile& tile) {
  memset(&tile, 0, sizeof tile);
  const Style style = Style(block % kStyles);
  Random random{0x5eed0000u + uint64_t(form_number) * 1000003u + uint64_t(block) * 0x100000001u};
  const Format fa = format_of(form.a), fb = format_of(form.b);
  const int k = k_of(form), kept_bits = fa.bytes == 1 && form.instruction == kWgmma ? 13 : 25;
  const auto line = [&](unsigned char* row, const Format& f, bool is_b) {
    uint32_t elements[kBytes];
    for (int i = 0; i < k; ++i)
      elements[i] = element(style, {random, f}, i, block, is_b, kept_bits);
    if (style == kCancel) {
      for (int i = 2; i < k; i += 2)
        elements[i + 1] = elements[i] ^ (is_b ? 1u << (f.bits() - 1) : 0u);
      const int below = is_b ? random.between(0, 15) : random.between(0, 15);
      for (int i = 0; i < 2; ++i) elements[i] = Maker{random, f}.number(-below, -below + 1);
    }
    for (int i = 0; i < k; ++i) put(row, f.bytes, i, elements[i]);
  };
  for (auto& row : tile.a) line(row, fa, false);
  for (auto& column : tile.b) line(column, fb, true);
  for (auto& row : tile.c)
    for (uint32_t& c : row) c = addend(style, {random, form.half ? kHalf : kFloat});
}

// ---- what the model says ------------------------------------------------------------------------

void expect(const Form& form, const Tile& tile, uint32_t* out) {
  static float a[kSide][kBytes], b[kBytes][kSide], d[kSide][kSide];
  const Format fa = format_of(form.a), fb = format_of(form.b);
  const int k = k_of(form);
  const auto read = [&](const unsigned char* row, const Format& f, int i) {
    uint32_t bits = 0;
    memcpy(&bits, row + i * f.bytes, f.bytes);
    return decoded(f, f.bytes == 4 ? bits & ~0x1fffu : bits);
  };
  for (int row = 0; row < kSide; ++row)
    for (int i = 0; i < k; ++i) {
      a[row][i] = read(tile.a[row], fa, i);
      b[i][row] = read(tile.b[row], fb, i);
    }
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < kSide; ++column)
      d[row][column] =
          form.half ? decoded(kHalf, tile.c[row][column]) : float_of(tile.c[row][column]);
  simt::add_products(form.instruction, form.a, form.b, form.half, kSide, kSide, k, a[0], kBytes,
                     b[0], kSide, d[0], kSide);
  for (int i = 0; i < kCases; ++i) {
    const float sum = d[i / kSide][i % kSide];
    out[i] = form.half ? half_bits(sum) : bits_of(sum);
  }
}

// ---- probes: one question each ------------------------------------------------------------------

// Sums of powers of two, or products of such: a question and what came out.
struct Probe {
  std::string question;
  struct Term {
    int i;
    float a, b;
  };
  std::vector<Term> terms;
  float c;
};

std::vector<Probe> probes_of(const Form& form) {
  std::vector<Probe> probes;
  const int k = k_of(form);
  const bool small_range =
      format_of(form.a).exponent_bits == 4 || format_of(form.b).exponent_bits == 4;
  const int deepest = small_range ? 18 : 28;
  const auto power = [](int e) { return std::ldexp(1.0f, e); };
  const auto say = [](const char* format, int n) {
    char text[128];
    snprintf(text, sizeof text, format, n);
    return std::string(text);
  };
  for (int j = 10; j <= deepest; ++j)
    probes.push_back({say("1 - 1 + 2^-%d, all products", j),
                      {{0, 1, 1}, {1, -1, 1}, {2, power(-(j / 2)), power(-(j - j / 2))}},
                      0});
  for (int j = 10; j <= deepest; ++j)
    probes.push_back({say("c = 1, product -1, product 2^-%d", j),
                      {{0, -1, 1}, {2, power(-(j / 2)), power(-(j - j / 2))}},
                      1});
  for (int j = 10; j <= 28; ++j)
    if (!form.half || j <= 24)
      probes.push_back(
          {say("products 1 and -1, c = 2^-%d", j), {{0, 1, 1}, {1, -1, 1}}, power(-j)});
  const int lost = deepest;
  for (int i = 2; i < k; ++i)
    probes.push_back({say("products 1 and -1 at k = 0 and 1, 2^-18 or 2^-28 at k = %d", i),
                      {{0, 1, 1}, {1, -1, 1}, {i, power(-(lost / 2)), power(-(lost - lost / 2))}},
                      0});
  for (int i = 0; i + 2 < k; ++i)
    probes.push_back(
        {say("products 1 and -1 at the end of k, 2^-18 or 2^-28 at k = %d", i),
         {{k - 2, 1, 1}, {k - 1, -1, 1}, {i, power(-(lost / 2)), power(-(lost - lost / 2))}},
         0});
  for (int sign : {1, -1})
    for (int j : {12, 13, 14, 23, 24, 25, 26})
      if (j <= deepest)
        probes.push_back(
            {say(sign > 0 ? "1 - 1 + 1.5 * 2^-%d" : "1 - 1 - 1.5 * 2^-%d", j),
             {{0, 1, 1}, {1, -1, 1}, {2, sign * 1.5f * power(-(j / 2)), power(-(j - j / 2))}},
             0});
  for (int sign : {1, -1})
    for (int j : {10, 11, 12, 13, 14, 15, 22, 23, 24, 25})
      if (j <= deepest)
        probes.push_back(
            {say(sign > 0 ? "c = 1, product 1.5 * 2^-%d" : "c = 1, product -1.5 * 2^-%d", j),
             {{0, sign * 1.5f * power(-(j / 2)), power(-(j - j / 2))}},
             1});
  for (int j : {10, 11, 12, 13, 14, 15, 22, 23, 24, 25})
    if (j <= deepest)
      probes.push_back(
          {say("product 1.5 * 1.5 = 2.25, -2.25, 2^-%d: is a product normalized?", j),
           {{0, 1.5f, 1.5f}, {1, -1.5f, 1.5f}, {2, power(-(j / 2)), power(-(j - j / 2))}},
           0});
  probes.push_back({"c = -0, products +0", {}, -0.0f});
  {
    Probe all{"c = -0, products -0", {}, -0.0f}, plus{"c = +0, products -0", {}, 0.0f};
    for (int i = 0; i < k; ++i) {
      all.terms.push_back({i, -0.0f, 1});
      plus.terms.push_back({i, -0.0f, 1});
    }
    probes.push_back(all);
    probes.push_back(plus);
  }
  probes.push_back({"c = -0, products 1 and -1", {{0, 1, 1}, {1, -1, 1}}, -0.0f});
  probes.push_back({"c = -1, product 1", {{0, 1, 1}}, -1});
  if (format_of(form.a).exponent_bits == 8) {
    for (int j = 140; j <= 166; j += 1)
      probes.push_back({say("2^-148 and -2^-%d, products", j),
                        {{0, power(-74), power(-74)}, {1, -power(-(j / 2)), power(-(j - j / 2))}},
                        0});
    for (int j = 140; j <= 166; j += 1)
      probes.push_back(
          {say("-2^-%d, a product", j), {{0, -power(-(j / 2)), power(-(j - j / 2))}}, 0});
    probes.push_back({"2^127 * 2^127 - 2^127 * 2^127 + 1",
                      {{0, power(127), power(127)}, {1, -power(127), power(127)}, {2, 1, 1}},
                      0});
    probes.push_back({"2^64 * 2^64 + c = -2^127", {{0, power(64), power(64)}}, -power(127)});
    probes.push_back(
        {"2^64 * 2^63 + 2^64 * 2^63", {{0, power(64), power(63)}, {1, power(64), power(63)}}, 0});
  }
  if (form.half) {
    for (int j = 20; j <= 30; ++j)
      if (j / 2 <= (small_range ? 9 : 14) && j - j / 2 <= (small_range ? 9 : 14))
        for (int sign : {1, -1})
          probes.push_back({say(sign > 0 ? "a product 2^-%d" : "a product -2^-%d", j),
                            {{0, sign * power(-(j / 2)), power(-(j - j / 2))}},
                            0});
    probes.push_back({"c = 65504, product 16", {{0, 4, 4}}, 65504});
    probes.push_back({"c = 65504, product 15", {{0, 3.75f, 4}}, 65504});
  }
  return probes;
}

uint32_t bits_in(const Format& f, float value) {
  if (value == 0) return uint32_t(std::signbit(value)) << (f.bits() - 1);
  int exponent;
  const float fraction = std::frexp(std::fabs(value), &exponent) * 2;
  return encoded(f, value < 0, exponent - 1, uint32_t(std::ldexp(fraction, f.fraction_bits)));
}

// Probe i lies on the diagonal of tile i / kSide.
std::vector<Tile> tiles_of(const Form& form, const std::vector<Probe>& probes) {
  std::vector<Tile> tiles((probes.size() + kSide - 1) / kSide);
  memset(tiles.data(), 0, tiles.size() * sizeof(Tile));
  for (size_t i = 0; i < probes.size(); ++i) {
    Tile& tile = tiles[i / kSide];
    const int at = int(i % kSide);
    const Format fa = format_of(form.a), fb = format_of(form.b);
    for (const Probe::Term& term : probes[i].terms) {
      if (term.i >= k_of(form)) continue;
      put(tile.a[at], fa.bytes, term.i, bits_in(fa, term.a));
      put(tile.b[at], fb.bytes, term.i, bits_in(fb, term.b));
    }
    tile.c[at][at] = bits_in(form.half ? kHalf : kFloat, probes[i].c);
  }
  return tiles;
}

// ---- runs ---------------------------------------------------------------------------------------

std::vector<uint32_t> run(const Form& form, const std::vector<Tile>& tiles) {
  Tile* device_tiles;
  uint32_t* device_out;
  std::vector<uint32_t> out(tiles.size() * kCases);
  CHECK(cudaMalloc(&device_tiles, tiles.size() * sizeof(Tile)));
  CHECK(cudaMalloc(&device_out, out.size() * 4));
  CHECK(
      cudaMemcpy(device_tiles, tiles.data(), tiles.size() * sizeof(Tile), cudaMemcpyHostToDevice));
  form.kernel<<<unsigned(tiles.size()), unsigned(form.threads)>>>(device_tiles, device_out);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(out.data(), device_out, out.size() * 4, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_tiles));
  CHECK(cudaFree(device_out));
  return out;
}

uint64_t hash(uint64_t h, const uint32_t* words, size_t count) {  // FNV-1a over words
  for (size_t i = 0; i < count; ++i) h = (h ^ words[i]) * 0x100000001b3u;
  return h;
}
constexpr uint64_t kHashStart = 0xcbf29ce484222325u;

void print_case(const Form& form, const Tile& tile, int i, uint32_t got, uint32_t wanted) {
  const int row = i / kSide, column = i % kSide;
  printf("    row %d column %d: got %08x, the model says %08x; c %08x\n      a", row, column, got,
         wanted, tile.c[row][column]);
  for (int at = 0; at < form.bytes; ++at)
    printf("%s%02x", at % format_of(form.a).bytes ? "" : " ", tile.a[row][at]);
  printf("\n      b");
  for (int at = 0; at < form.bytes; ++at)
    printf("%s%02x", at % format_of(form.b).bytes ? "" : " ", tile.b[column][at]);
  printf("\n");
}

struct Options {
  int blocks = 20;  // of each style
  int dumped = 4;   // of each style
  std::string form, hashes, dump, compare;
  bool probes = false;
};

// What `--hashes` wrote, by form and style: of the first two blocks, and of all.
struct Known {
  std::string form, style;
  int blocks;
  uint64_t first, all;
};

int usage() {
  fprintf(stderr,
          "tensor_sums [--form PART_OF_A_NAME] [--blocks N] [--probes] [--hashes FILE] "
          "[--compare FILE] [--dump PREFIX]\n");
  return 2;
}

}  // namespace

int main(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--probes") {
      options.probes = true;
      continue;
    }
    if (i + 1 == count) return usage();
    const char* value = words[++i];
    if (word == "--form")
      options.form = value;
    else if (word == "--blocks")
      options.blocks = atoi(value);
    else if (word == "--hashes")
      options.hashes = value;
    else if (word == "--compare")
      options.compare = value;
    else if (word == "--dump")
      options.dump = value;
    else
      return usage();
  }
  if (options.blocks < 2) return usage();
  std::vector<Known> known;
  if (!options.compare.empty()) {
    FILE* file = fopen(options.compare.c_str(), "r");
    if (!file) return usage();
    char form[64], style[64];
    Known one;
    unsigned long long first, all;
    while (fscanf(file, "%63s %63s %d %llx %llx", form, style, &one.blocks, &first, &all) == 5) {
      one.form = form, one.style = style, one.first = first, one.all = all;
      known.push_back(one);
    }
    fclose(file);
  }
  FILE* hashes = options.hashes.empty() ? nullptr : fopen(options.hashes.c_str(), "w");
  FILE* dumps[2] = {};
  if (!options.dump.empty())
    for (int i = 0; i < 2; ++i)
      dumps[i] = fopen((options.dump + "." + std::to_string(i)).c_str(), "wb");

  long long all_cases = 0, all_unequal = 0, other_hashes = 0, compared_hashes = 0, all_hashes = 0;
  constexpr int kFormCount = int(sizeof kForms / sizeof *kForms);
  for (int number = 0; number < kFormCount; ++number) {
    const Form& form = kForms[number];
    if (!strstr(form.name, options.form.c_str())) continue;
    const int blocks = options.blocks * kStyles;
    std::vector<Tile> tiles(size_t(blocks), Tile{});
    for (int block = 0; block < blocks; ++block) fill(form, number, block, tiles[block]);
    const std::vector<uint32_t> out = run(form, tiles);
    std::vector<uint32_t> wanted(kCases);
    long long unequal[kStyles] = {}, sum = 0;
    uint64_t first[kStyles], all[kStyles];
    for (int style = 0; style < kStyles; ++style) first[style] = all[style] = kHashStart;
    std::string examples[kStyles];
    for (int block = 0; block < blocks; ++block) {
      const int style = block % kStyles;
      const uint32_t* got = &out[size_t(block) * kCases];
      expect(form, tiles[block], wanted.data());
      for (int i = 0; i < kCases; ++i)
        if (got[i] != wanted[i]) {
          if (++unequal[style] <= 4) {
            printf("  %s, %s, block %d\n", form.name, kStyleNames[style], block);
            print_case(form, tiles[block], i, got[i], wanted[i]);
          }
        }
      all[style] = hash(all[style], got, kCases);
      if (block < 2 * kStyles) first[style] = hash(first[style], got, kCases);
      if (dumps[0] && block < options.dumped * kStyles) {
        FILE* to = dumps[number * 2 / kFormCount];
        for (int i = 0; i < kCases; ++i) fwrite(&got[i], form.half ? 2 : 4, 1, to);
      }
    }
    for (long long n : unequal) sum += n;
    const long long cases = (long long)blocks * kCases;
    printf("%-26s %lld cases, equal %lld, unequal %lld", form.name, cases, cases - sum, sum);
    for (int style = 0; style < kStyles; ++style)
      if (unequal[style]) printf(" %s:%lld", kStyleNames[style], unequal[style]);
    int other = 0;
    for (int style = 0; style < kStyles; ++style)
      for (const Known& one : known)
        if (one.form == form.name && one.style == kStyleNames[style]) {
          ++compared_hashes;
          const bool same =
              one.first == first[style] && (one.blocks != options.blocks || one.all == all[style]);
          if (!same) printf(" other_hash:%s", kStyleNames[style]);
          other += !same;
        }
    printf("\n");
    other_hashes += other;
    all_hashes += kStyles;
    all_cases += cases;
    all_unequal += sum;
    if (hashes)
      for (int style = 0; style < kStyles; ++style)
        fprintf(hashes, "%s %s %d %016llx %016llx\n", form.name, kStyleNames[style], options.blocks,
                (unsigned long long)first[style], (unsigned long long)all[style]);
    if (options.probes) {
      const std::vector<Probe> probes = probes_of(form);
      const std::vector<Tile> probe_tiles = tiles_of(form, probes);
      const std::vector<uint32_t> answers = run(form, probe_tiles);
      for (size_t i = 0; i < probes.size(); ++i) {
        if (i % kSide == 0) expect(form, probe_tiles[i / kSide], wanted.data());
        const size_t at = i % kSide * (kSide + 1);
        const uint32_t got = answers[i / kSide * kCases + at];
        const float value = form.half ? decoded(kHalf, got) : float_of(got);
        printf("  %-66s %08x %g%s\n", probes[i].question.c_str(), got, double(value),
               got == wanted[at] ? "" : "   THE MODEL SAYS OTHERWISE");
      }
    }
    fflush(stdout);
  }
  if (hashes) fclose(hashes);
  for (FILE* file : dumps)
    if (file) fclose(file);
  printf("%lld cases, equal %lld, unequal %lld", all_cases, all_cases - all_unequal, all_unequal);
  if (!options.compare.empty())
    printf("; of %lld hashes %lld compared, %lld are others", all_hashes, compared_hashes,
           other_hashes);
  printf("\n");
  const bool misses = !options.compare.empty() && compared_hashes != all_hashes;
  return all_unequal || other_hashes || misses || all_cases == 0;
}
