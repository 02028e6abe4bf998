// SPDX-License-Identifier: MIT
// wgmma: the tensor cores of Hopper, driven by a warpgroup (four warps whose first is a multiple of
// four), with operands that stay in shared memory (PTX ISA 8.0, "Asynchronous Warpgroup Level
// Matrix Instructions"). One function for each instruction. They exist in code for sm_90a only.
//
// The order around them: writes to shared memory -> fence_proxy_async (tma.cuh) -> a barrier;
// writes to registers -> wgmma_fence -> wgmma_bf16 or wgmma_f16, any number -> wgmma_commit_group
// -> other work -> wgmma_wait_group. Until that wait nobody may touch the accumulators or registers
// given as A, or write to the tiles in shared memory.
//
// The accumulator d of a 64 x N product: warp w of the warpgroup, lane l, holds in d[i] row
// 16 w + l / 4 + 8 ((i / 2) % 2), column 8 (i / 4) + 2 (l % 4) + i % 2.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/kit/ptx/tma.cuh"

namespace ptx {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// What was written to registers and read from them before is done before the wgmma that follow.
__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Closes the warpgroup's group of wgmma and opens the next.
__device__ inline void wgmma_commit_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most the kPending youngest groups are still in flight.
template <int kPending>
__device__ inline void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// No instruction: forbids the compiler to move its own accesses to these registers across this
// point. It does not know that wgmma goes on using them. To be put before wgmma_fence and after
// wgmma_wait_group.
template <int kCount>
__device__ inline void fence_registers(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
template <int kCount>
__device__ inline void fence_registers(std::uint32_t (&r)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(r[i])::"memory");
}

// How wgmma finds a tile of 16-bit elements in shared memory that TMA wrote with a
// swizzle of 128 bytes: rows of 64 elements, eight of them 1024 bytes, aligned to 1024 bytes.
// - K-major (a row runs along K): stride_bytes from eight rows to the next eight, 1024 where they
//   are dense; leading_bytes is not used. The next 16 elements of K lie 32 bytes further.
// - MN-major (a row is one value of K and runs along M or N): stride_bytes from eight values of K
//   to the eight after them; leading_bytes from 64 elements of M or N to the next 64. The next 16
//   values of K lie 2048 bytes further.
__device__ inline std::uint64_t descriptor_128B(const void* shared, std::uint32_t leading_bytes,
                                                std::uint32_t stride_bytes) {
  constexpr std::uint64_t kSwizzle128B = 1;
  return (shared_address(shared) & 0x3ffffu) >> 4 |
         static_cast<std::uint64_t>(leading_bytes >> 4) << 16 |
         static_cast<std::uint64_t>(stride_bytes >> 4) << 32 | kSwizzle128B << 62;
}

// The same tile `bytes` further on.
__device__ inline std::uint64_t advance(std::uint64_t descriptor, std::uint32_t bytes) {
  return descriptor + (bytes >> 4);
}

// The n / 2 accumulator registers of a product 64 x n: PTX_Rn(X) is X(i, j, k, l) for every four of
// them but the first. What becomes of them: text, as PTX has it, and operands of the asm statement.
#define PTX_R8(X)
#define PTX_R16(X) X(4, 5, 6, 7)
#define PTX_R32(X) PTX_R16(X) X(8, 9, 10, 11) X(12, 13, 14, 15)
#define PTX_R64(X) \
  PTX_R32(X) X(16, 17, 18, 19) X(20, 21, 22, 23) X(24, 25, 26, 27) X(28, 29, 30, 31)
#define PTX_R80(X) PTX_R64(X) X(32, 33, 34, 35) X(36, 37, 38, 39)
#define PTX_R96(X) PTX_R80(X) X(40, 41, 42, 43) X(44, 45, 46, 47)
#define PTX_R112(X) PTX_R96(X) X(48, 49, 50, 51) X(52, 53, 54, 55)
#define PTX_R128(X) PTX_R112(X) X(56, 57, 58, 59) X(60, 61, 62, 63)
#define PTX_R144(X) PTX_R128(X) X(64, 65, 66, 67) X(68, 69, 70, 71)
#define PTX_R152(X) PTX_R144(X) X(72, 73, 74, 75)
#define PTX_R160(X) PTX_R152(X) X(76, 77, 78, 79)
#define PTX_R168(X) PTX_R160(X) X(80, 81, 82, 83)
#define PTX_R176(X) PTX_R168(X) X(84, 85, 86, 87)
#define PTX_R192(X) PTX_R176(X) X(88, 89, 90, 91) X(92, 93, 94, 95)
#define PTX_R208(X) PTX_R192(X) X(96, 97, 98, 99) X(100, 101, 102, 103)
#define PTX_R224(X) PTX_R208(X) X(104, 105, 106, 107) X(108, 109, 110, 111)
#define PTX_R248(X) PTX_R224(X) X(112, 113, 114, 115) X(116, 117, 118, 119) X(120, 121, 122, 123)
#define PTX_R256(X) PTX_R248(X) X(124, 125, 126, 127)
#define PTX_TEXT(registers) "{%0, %1, %2, %3" registers(PTX_FOUR_NAMES) "}"
#define PTX_FOUR_NAMES(i, j, k, l) ", %" #i ", %" #j ", %" #k ", %" #l
#define PTX_OPERANDS(registers) "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])registers(PTX_FOUR)
#define PTX_FOUR(i, j, k, l) , "+f"(d[i]), "+f"(d[j]), "+f"(d[k]), "+f"(d[l])

// d = a b + (accumulate ? d : 0) with a 64 x 16 and b 16 x n, both bf16 (wgmma_bf16) or both fp16
// (wgmma_f16). A: a descriptor, K-major unless kTransA, then MN-major. B: a descriptor, K-major
// (each row of its tile holds one column of b) unless kTransB, then MN-major.
#define PTX_WGMMA_SHARED_OF(type, n, registers, a, b, p, ta, tb)                               \
  template <int kTransB = 0, int kTransA = 0>                                                  \
  __device__ inline void wgmma_##type(float(&d)[n / 2], std::uint64_t a_tile,                  \
                                      std::uint64_t b_tile, bool accumulate = true) {          \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #p                                       \
                 ", 0;\n"                                                                      \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." #type "." #type             \
                 " " PTX_TEXT(registers) ", %" #a ", %" #b ", p, 1, 1, %" #ta ", %" #tb ";\n}" \
                 : PTX_OPERANDS(registers)                                                     \
                 : "l"(a_tile), "l"(b_tile), "r"(static_cast<int>(accumulate)), "n"(kTransA),  \
                   "n"(kTransB));                                                              \
  }
#define PTX_WGMMA_SHARED(...)            \
  PTX_WGMMA_SHARED_OF(bf16, __VA_ARGS__) \
  PTX_WGMMA_SHARED_OF(f16, __VA_ARGS__)

// The same with A in registers: a warp holds 16 rows, as mma_m16n8k16 wants them.
#define PTX_WGMMA_REGISTERS_OF(type, n, registers, a0, a1, a2, a3, b, p, t)                 \
  template <int kTransB = 0, int kTransA = 0>                                               \
  __device__ inline void wgmma_##type(float(&d)[n / 2], const std::uint32_t(&a)[4],         \
                                      std::uint64_t b_tile, bool accumulate = true) {       \
    static_assert(kTransA == 0, "only a tile in shared memory can be MN-major");            \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #p                                    \
                 ", 0;\n"                                                                   \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." #type "." #type          \
                 " " PTX_TEXT(registers) ", {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b \
                                         ", p, 1, 1, %" #t ";\n}"                           \
                 : PTX_OPERANDS(registers)                                                  \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b_tile),                 \
                   "r"(static_cast<int>(accumulate)), "n"(kTransB));                        \
  }
#define PTX_WGMMA_REGISTERS(...)            \
  PTX_WGMMA_REGISTERS_OF(bf16, __VA_ARGS__) \
  PTX_WGMMA_REGISTERS_OF(f16, __VA_ARGS__)

PTX_WGMMA_SHARED(8, PTX_R8, 4, 5, 6, 7, 8)
PTX_WGMMA_SHARED(16, PTX_R16, 8, 9, 10, 11, 12)
PTX_WGMMA_SHARED(32, PTX_R32, 16, 17, 18, 19, 20)
PTX_WGMMA_SHARED(64, PTX_R64, 32, 33, 34, 35, 36)
PTX_WGMMA_REGISTERS(64, PTX_R64, 32, 33, 34, 35, 36, 37, 38)
PTX_WGMMA_SHARED(80, PTX_R80, 40, 41, 42, 43, 44)
PTX_WGMMA_REGISTERS(80, PTX_R80, 40, 41, 42, 43, 44, 45, 46)
PTX_WGMMA_SHARED(96, PTX_R96, 48, 49, 50, 51, 52)
PTX_WGMMA_REGISTERS(96, PTX_R96, 48, 49, 50, 51, 52, 53, 54)
PTX_WGMMA_SHARED(112, PTX_R112, 56, 57, 58, 59, 60)
PTX_WGMMA_SHARED(128, PTX_R128, 64, 65, 66, 67, 68)
PTX_WGMMA_REGISTERS(128, PTX_R128, 64, 65, 66, 67, 68, 69, 70)
PTX_WGMMA_SHARED(144, PTX_R144, 72, 73, 74, 75, 76)
PTX_WGMMA_SHARED(152, PTX_R152, 76, 77, 78, 79, 80)
PTX_WGMMA_SHARED(160, PTX_R160, 80, 81, 82, 83, 84)
PTX_WGMMA_REGISTERS(160, PTX_R160, 80, 81, 82, 83, 84, 85, 86)
PTX_WGMMA_SHARED(168, PTX_R168, 84, 85, 86, 87, 88)
PTX_WGMMA_SHARED(176, PTX_R176, 88, 89, 90, 91, 92)
PTX_WGMMA_REGISTERS(176, PTX_R176, 88, 89, 90, 91, 92, 93, 94)
PTX_WGMMA_SHARED(192, PTX_R192, 96, 97, 98, 99, 100)
PTX_WGMMA_REGISTERS(192, PTX_R192, 96, 97, 98, 99, 100, 101, 102)
PTX_WGMMA_SHARED(208, PTX_R208, 104, 105, 106, 107, 108)
PTX_WGMMA_SHARED(224, PTX_R224, 112, 113, 114, 115, 116)
PTX_WGMMA_SHARED(248, PTX_R248, 124, 125, 126, 127, 128)
PTX_WGMMA_SHARED(256, PTX_R256, 128, 129, 130, 131, 132)
PTX_WGMMA_REGISTERS(256, PTX_R256, 128, 129, 130, 131, 132, 133, 134)

// d = a b + (accumulate ? d : 0) with a 64 x 32 and b 32 x n, both in E4M3 (wgmma_e4m3), or a in
// E5M2 (wgmma_e5m2), or b (wgmma_e4m3_e5m2): descriptors of two K-major tiles, the only kind that
// there is for 8 bits.
#define PTX_WGMMA_FP8_OF(name, types, n, registers, a, b, p)                          \
  __device__ inline void wgmma_##name(float(&d)[n / 2], std::uint64_t a_tile,         \
                                      std::uint64_t b_tile, bool accumulate = true) { \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #p                              \
                 ", 0;\n"                                                             \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k32.f32." types              \
                 " " PTX_TEXT(registers) ", %" #a ", %" #b ", p, 1, 1;\n}"            \
                 : PTX_OPERANDS(registers)                                            \
                 : "l"(a_tile), "l"(b_tile), "r"(static_cast<int>(accumulate)));      \
  }
#define PTX_WGMMA_FP8(...)                         \
  PTX_WGMMA_FP8_OF(e4m3, "e4m3.e4m3", __VA_ARGS__) \
  PTX_WGMMA_FP8_OF(e5m2, "e5m2.e4m3", __VA_ARGS__) \
  PTX_WGMMA_FP8_OF(e4m3_e5m2, "e4m3.e5m2", __VA_ARGS__)

PTX_WGMMA_FP8(8, PTX_R8, 4, 5, 6)
PTX_WGMMA_FP8(16, PTX_R16, 8, 9, 10)
PTX_WGMMA_FP8(32, PTX_R32, 16, 17, 18)
PTX_WGMMA_FP8(64, PTX_R64, 32, 33, 34)
PTX_WGMMA_FP8(128, PTX_R128, 64, 65, 66)
PTX_WGMMA_FP8(192, PTX_R192, 96, 97, 98)
PTX_WGMMA_FP8(256, PTX_R256, 128, 129, 130)

// The same with A in registers: a warp holds 16 rows, as mma_m16n8k32_e4m3 wants them.
#define PTX_WGMMA_FP8_REGISTERS_OF(type, n, registers, a0, a1, a2, a3, b, p)                     \
  __device__ inline void wgmma_##type(float(&d)[n / 2], const std::uint32_t(&a)[4],              \
                                      std::uint64_t b_tile, bool accumulate = true) {            \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #p                                         \
                 ", 0;\n"                                                                        \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k32.f32." #type                         \
                 ".e4m3 " PTX_TEXT(registers) ", {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b \
                                              ", p, 1, 1;\n}"                                    \
                 : PTX_OPERANDS(registers)                                                       \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b_tile),                      \
                   "r"(static_cast<int>(accumulate)));                                           \
  }
#define PTX_WGMMA_FP8_REGISTERS(...) PTX_WGMMA_FP8_REGISTERS_OF(e4m3, __VA_ARGS__)

PTX_WGMMA_FP8_REGISTERS(128, PTX_R128, 64, 65, 66, 67, 68, 69)

#undef PTX_WGMMA_FP8_REGISTERS
#undef PTX_WGMMA_FP8_REGISTERS_OF
#undef PTX_WGMMA_FP8
#undef PTX_WGMMA_FP8_OF
#undef PTX_WGMMA_REGISTERS
#undef PTX_WGMMA_REGISTERS_OF
#undef PTX_WGMMA_SHARED
#undef PTX_WGMMA_SHARED_OF
#undef PTX_TEXT
#undef PTX_FOUR_NAMES
#undef PTX_OPERANDS
#undef PTX_FOUR
#undef PTX_R8
#undef PTX_R16
#undef PTX_R32
#undef PTX_R64
#undef PTX_R80
#undef PTX_R96
#undef PTX_R112
#undef PTX_R128
#undef PTX_R144
#undef PTX_R152
#undef PTX_R160
#undef PTX_R168
#undef PTX_R176
#undef PTX_R192
#undef PTX_R208
#undef PTX_R224
#undef PTX_R248
#undef PTX_R256

// The one of the two for elements of T, __nv_bfloat16 or __half. a: a descriptor or registers.
template <class T, int kTransB = 0, int kTransA = 0, int kCount, class A>
__device__ inline void wgmma(float (&d)[kCount], const A& a, std::uint64_t b_tile,
                             bool accumulate = true) {
  if constexpr (std::is_same_v<T, __half>) {
    wgmma_f16<kTransB, kTransA>(d, a, b_tile, accumulate);
  } else {
    static_assert(std::is_same_v<T, __nv_bfloat16>, "T is __nv_bfloat16 or __half");
    wgmma_bf16<kTransB, kTransA>(d, a, b_tile, accumulate);
  }
}
#endif

}  // namespace ptx
