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

#include "common/kit/ptx/mbarrier.cuh"

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

// The n / 2 accumulator registers of a product 64 x n, as assembly text (PTX_Dn) and as operands
// (PTX_On): each list begins with the one before it.
#define PTX_D8 "%0, %1, %2, %3"
#define PTX_D16 PTX_D8 ", %4, %5, %6, %7"
#define PTX_D32 PTX_D16 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define PTX_D64                              \
  PTX_D32                                    \
  ", %16, %17, %18, %19, %20, %21, %22, %23" \
  ", %24, %25, %26, %27, %28, %29, %30, %31"
#define PTX_D80 PTX_D64 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define PTX_D96 PTX_D80 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define PTX_D112 PTX_D96 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define PTX_D128 PTX_D112 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define PTX_D144 PTX_D128 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define PTX_D152 PTX_D144 ", %72, %73, %74, %75"
#define PTX_D160 PTX_D152 ", %76, %77, %78, %79"
#define PTX_D168 PTX_D160 ", %80, %81, %82, %83"
#define PTX_D176 PTX_D168 ", %84, %85, %86, %87"
#define PTX_D192 PTX_D176 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define PTX_D208 PTX_D192 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define PTX_D224 PTX_D208 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define PTX_D248                                     \
  PTX_D224                                           \
  ", %112, %113, %114, %115, %116, %117, %118, %119" \
  ", %120, %121, %122, %123"
#define PTX_D256 PTX_D248 ", %124, %125, %126, %127"
#define PTX_FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define PTX_EIGHT(i) PTX_FOUR(i), PTX_FOUR(i + 4)
#define PTX_O8 PTX_FOUR(0)
#define PTX_O16 PTX_O8, PTX_FOUR(4)
#define PTX_O32 PTX_O16, PTX_EIGHT(8)
#define PTX_O64 PTX_O32, PTX_EIGHT(16), PTX_EIGHT(24)
#define PTX_O80 PTX_O64, PTX_EIGHT(32)
#define PTX_O96 PTX_O80, PTX_EIGHT(40)
#define PTX_O112 PTX_O96, PTX_EIGHT(48)
#define PTX_O128 PTX_O112, PTX_EIGHT(56)
#define PTX_O144 PTX_O128, PTX_EIGHT(64)
#define PTX_O152 PTX_O144, PTX_FOUR(72)
#define PTX_O160 PTX_O152, PTX_FOUR(76)
#define PTX_O168 PTX_O160, PTX_FOUR(80)
#define PTX_O176 PTX_O168, PTX_FOUR(84)
#define PTX_O192 PTX_O176, PTX_EIGHT(88)
#define PTX_O208 PTX_O192, PTX_EIGHT(96)
#define PTX_O224 PTX_O208, PTX_EIGHT(104)
#define PTX_O248 PTX_O224, PTX_EIGHT(112), PTX_FOUR(120)
#define PTX_O256 PTX_O248, PTX_FOUR(124)

// d = a b + (accumulate ? d : 0) with a 64 x 16 and b 16 x n, both bf16 (wgmma_bf16) or both fp16
// (wgmma_f16). A: a descriptor, K-major unless kTransA, then MN-major. B: a descriptor, K-major
// (each row of its tile holds one column of b) unless kTransB, then MN-major.
#define PTX_WGMMA_SHARED_OF(type, n, text, a, b, p, ta, tb, ...)                              \
  template <int kTransB = 0, int kTransA = 0>                                                 \
  __device__ inline void wgmma_##type(float(&d)[n / 2], std::uint64_t a_tile,                 \
                                      std::uint64_t b_tile, bool accumulate = true) {         \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #p                                      \
                 ", 0;\n"                                                                     \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." #type "." #type " {" text  \
                 "}, %" #a ", %" #b ", p, 1, 1, %" #ta ", %" #tb ";\n}"                       \
                 : __VA_ARGS__                                                                \
                 : "l"(a_tile), "l"(b_tile), "r"(static_cast<int>(accumulate)), "n"(kTransA), \
                   "n"(kTransB));                                                             \
  }
#define PTX_WGMMA_SHARED(...)            \
  PTX_WGMMA_SHARED_OF(bf16, __VA_ARGS__) \
  PTX_WGMMA_SHARED_OF(f16, __VA_ARGS__)

// The same with A in registers: a warp holds 16 rows, as mma_m16n8k16 wants them.
#define PTX_WGMMA_REGISTERS_OF(type, n, text, a0, a1, a2, a3, b, p, t, ...)                   \
  template <int kTransB = 0, int kTransA = 0>                                                 \
  __device__ inline void wgmma_##type(float(&d)[n / 2], const std::uint32_t(&a)[4],           \
                                      std::uint64_t b_tile, bool accumulate = true) {         \
    static_assert(kTransA == 0, "only a tile in shared memory can be MN-major");              \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #p                                      \
                 ", 0;\n"                                                                     \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." #type "." #type " {" text  \
                 "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b ", p, 1, 1, %" #t ";\n}" \
                 : __VA_ARGS__                                                                \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b_tile),                   \
                   "r"(static_cast<int>(accumulate)), "n"(kTransB));                          \
  }
#define PTX_WGMMA_REGISTERS(...)            \
  PTX_WGMMA_REGISTERS_OF(bf16, __VA_ARGS__) \
  PTX_WGMMA_REGISTERS_OF(f16, __VA_ARGS__)

PTX_WGMMA_SHARED(8, PTX_D8, 4, 5, 6, 7, 8, PTX_O8)
PTX_WGMMA_SHARED(16, PTX_D16, 8, 9, 10, 11, 12, PTX_O16)
PTX_WGMMA_SHARED(32, PTX_D32, 16, 17, 18, 19, 20, PTX_O32)
PTX_WGMMA_SHARED(64, PTX_D64, 32, 33, 34, 35, 36, PTX_O64)
PTX_WGMMA_REGISTERS(64, PTX_D64, 32, 33, 34, 35, 36, 37, 38, PTX_O64)
PTX_WGMMA_SHARED(80, PTX_D80, 40, 41, 42, 43, 44, PTX_O80)
PTX_WGMMA_REGISTERS(80, PTX_D80, 40, 41, 42, 43, 44, 45, 46, PTX_O80)
PTX_WGMMA_SHARED(96, PTX_D96, 48, 49, 50, 51, 52, PTX_O96)
PTX_WGMMA_REGISTERS(96, PTX_D96, 48, 49, 50, 51, 52, 53, 54, PTX_O96)
PTX_WGMMA_SHARED(112, PTX_D112, 56, 57, 58, 59, 60, PTX_O112)
PTX_WGMMA_SHARED(128, PTX_D128, 64, 65, 66, 67, 68, PTX_O128)
PTX_WGMMA_REGISTERS(128, PTX_D128, 64, 65, 66, 67, 68, 69, 70, PTX_O128)
PTX_WGMMA_SHARED(144, PTX_D144, 72, 73, 74, 75, 76, PTX_O144)
PTX_WGMMA_SHARED(152, PTX_D152, 76, 77, 78, 79, 80, PTX_O152)
PTX_WGMMA_SHARED(160, PTX_D160, 80, 81, 82, 83, 84, PTX_O160)
PTX_WGMMA_REGISTERS(160, PTX_D160, 80, 81, 82, 83, 84, 85, 86, PTX_O160)
PTX_WGMMA_SHARED(168, PTX_D168, 84, 85, 86, 87, 88, PTX_O168)
PTX_WGMMA_SHARED(176, PTX_D176, 88, 89, 90, 91, 92, PTX_O176)
PTX_WGMMA_REGISTERS(176, PTX_D176, 88, 89, 90, 91, 92, 93, 94, PTX_O176)
PTX_WGMMA_SHARED(192, PTX_D192, 96, 97, 98, 99, 100, PTX_O192)
PTX_WGMMA_REGISTERS(192, PTX_D192, 96, 97, 98, 99, 100, 101, 102, PTX_O192)
PTX_WGMMA_SHARED(208, PTX_D208, 104, 105, 106, 107, 108, PTX_O208)
PTX_WGMMA_SHARED(224, PTX_D224, 112, 113, 114, 115, 116, PTX_O224)
PTX_WGMMA_SHARED(248, PTX_D248, 124, 125, 126, 127, 128, PTX_O248)
PTX_WGMMA_SHARED(256, PTX_D256, 128, 129, 130, 131, 132, PTX_O256)
PTX_WGMMA_REGISTERS(256, PTX_D256, 128, 129, 130, 131, 132, 133, 134, PTX_O256)

// d = a b + (accumulate ? d : 0) with a 64 x 32 in E4M3 or E5M2 (wgmma_e4m3, wgmma_e5m2) and b
// 32 x n in E4M3: descriptors of two K-major tiles, the only kind that there is for 8 bits.
#define PTX_WGMMA_FP8_OF(type, n, text, a, b, p, ...)                                             \
  __device__ inline void wgmma_##type(float(&d)[n / 2], std::uint64_t a_tile,                     \
                                      std::uint64_t b_tile, bool accumulate = true) {             \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #p                                          \
                 ", 0;\n"                                                                         \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k32.f32." #type ".e4m3 {" text "}, %" #a \
                 ", %" #b ", p, 1, 1;\n}"                                                         \
                 : __VA_ARGS__                                                                    \
                 : "l"(a_tile), "l"(b_tile), "r"(static_cast<int>(accumulate)));                  \
  }
#define PTX_WGMMA_FP8(...)            \
  PTX_WGMMA_FP8_OF(e4m3, __VA_ARGS__) \
  PTX_WGMMA_FP8_OF(e5m2, __VA_ARGS__)

PTX_WGMMA_FP8(64, PTX_D64, 32, 33, 34, PTX_O64)
PTX_WGMMA_FP8(128, PTX_D128, 64, 65, 66, PTX_O128)
PTX_WGMMA_FP8(256, PTX_D256, 128, 129, 130, PTX_O256)

#undef PTX_WGMMA_FP8
#undef PTX_WGMMA_FP8_OF
#undef PTX_WGMMA_REGISTERS
#undef PTX_WGMMA_REGISTERS_OF
#undef PTX_WGMMA_SHARED
#undef PTX_WGMMA_SHARED_OF
#undef PTX_FOUR
#undef PTX_EIGHT
#undef PTX_D8
#undef PTX_D16
#undef PTX_D32
#undef PTX_D64
#undef PTX_D80
#undef PTX_D96
#undef PTX_D112
#undef PTX_D128
#undef PTX_D144
#undef PTX_D152
#undef PTX_D160
#undef PTX_D176
#undef PTX_D192
#undef PTX_D208
#undef PTX_D224
#undef PTX_D248
#undef PTX_D256
#undef PTX_O8
#undef PTX_O16
#undef PTX_O32
#undef PTX_O64
#undef PTX_O80
#undef PTX_O96
#undef PTX_O112
#undef PTX_O128
#undef PTX_O144
#undef PTX_O152
#undef PTX_O160
#undef PTX_O176
#undef PTX_O192
#undef PTX_O208
#undef PTX_O224
#undef PTX_O248
#undef PTX_O256

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
