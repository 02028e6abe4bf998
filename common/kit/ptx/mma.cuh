// SPDX-License-Identifier: MIT
// PTX instructions for tensor cores that a single warp drives (sm_80), with the copies that feed
// them: one function each, under their PTX names (PTX ISA 8.0, "Warp-level matrix instructions" and
// "cp.async"). They exist in code for sm_80 or newer only, stmatrix for sm_90 or newer.
//
// A small matrix is spread over the registers of a warp's 32 lanes; a lane's share is its fragment.
// Those of 16-bit elements are built of 8 x 8 matrices: lane l holds row l / 4, columns
// 2 (l % 4) and 2 (l % 4) + 1, packed in one register, the left one in the lower half.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace ptx {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// Issues a copy of 16 bytes from global to shared memory, both aligned to 16 bytes, past the
// registers and the L1 cache. If not `inside`, zeros are stored and `global` is not read. The copy
// joins the thread's open group.
__device__ inline void cp_async_16(void* shared, const void* global, bool inside = true) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))),
               "l"(global), "r"(inside ? 16 : 0)
               : "memory");
}

// How L2 is to keep the lines of copies that are given this: they are the first to leave.
__device__ inline std::uint64_t createpolicy_evict_first() {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

__device__ inline void cp_async_16(void* shared, const void* global, bool inside,
                                   std::uint64_t policy) {
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))),
               "l"(global), "r"(inside ? 16 : 0), "l"(policy)
               : "memory");
}

// Closes the thread's group of copies, which may be empty, and opens the next.
__device__ inline void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most the kPending youngest groups of this thread are still in flight.
template <int kPending>
__device__ inline void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Four 8 x 8 matrices of 16-bit elements from shared memory, one register each. Lanes 8 i .. 8 i +
// 7 give the addresses of the 8 rows of matrix i, 16 bytes each and aligned to that.
__device__ inline void ldmatrix_x4(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}

// The same, each matrix transposed on its way: lane l receives rows 2 (l % 4) and 2 (l % 4) + 1 of
// column l / 4.
__device__ inline void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}

// d += a b for a warp: a is 16 x 16 (four 8 x 8 matrices: top left, bottom left, top right, bottom
// right), b is 16 x 8 (top, bottom; held by columns, as ldmatrix .trans leaves a row-major matrix),
// both of T, __nv_bfloat16 or __half. d is 16 x 8 in fp32: d[0], d[1] in row l / 4 and d[2], d[3]
// in row l / 4 + 8, columns 2 (l % 4) and 2 (l % 4) + 1.
template <class T = __nv_bfloat16>
__device__ inline void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                    std::uint32_t b1) {
  if constexpr (std::is_same_v<T, __half>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    static_assert(std::is_same_v<T, __nv_bfloat16>, "T is __nv_bfloat16 or __half");
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

#if __CUDA_ARCH__ >= 890
// The same for E4M3: a is 16 x 32 and b 32 x 8. A register holds four neighbours of k, so bytes
// that ldmatrix brings as pairs of 16 bits lie right.
__device__ inline void mma_m16n8k32_e4m3(float (&d)[4], const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#endif

// Four registers of a longer array of accumulators, as mma_m16n8k16 takes them.
__device__ inline float (&four(float* registers))[4] {
  return *reinterpret_cast<float(*)[4]>(registers);
}

// Both rounded to bf16 (to nearest, ties to even) and packed, `low` in the lower half.
__device__ inline std::uint32_t pack_bf16(float low, float high) {
  std::uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

// The same to fp16. What rounds to more than 65504 becomes infinite, what is below 2^-14 keeps
// fewer bits, and what is not above 2^-25 becomes 0.
__device__ inline std::uint32_t pack_f16(float low, float high) {
  std::uint32_t packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

// The one of the two that makes T, __nv_bfloat16 or __half.
template <class T>
__device__ inline std::uint32_t pack(float low, float high) {
  static_assert(std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>);
  if constexpr (std::is_same_v<T, __half>) {
    return pack_f16(low, high);
  } else {
    return pack_bf16(low, high);
  }
}

#if __CUDA_ARCH__ >= 890
// Four numbers rounded to E4M3 (to nearest, ties to even; what is larger than 448 becomes 448) and
// packed, x0 in the lowest byte.
__device__ inline std::uint32_t pack_e4m3(float x0, float x1, float x2, float x3) {
  std::uint32_t packed;
  asm("{\n"
      ".reg .b16 low, high;\n"
      "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
      "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
      "mov.b32 %0, {low, high};\n"
      "}"
      : "=r"(packed)
      : "f"(x0), "f"(x1), "f"(x2), "f"(x3));
  return packed;
}
#endif

// 2^x with a relative error of 2^-22; results below 2^-126 become 0, 2^-infinity among them.
__device__ inline float ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// 1 / x, with an error of 1 ulp at most, and log2(x), with one of 2^-22 at most: absolute for x
// between 1/2 and 2, else relative. Numbers below 2^-126 count as 0, as argument and as result.
__device__ inline float rcp(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float lg2(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// The reverse of ldmatrix_x4: four 8 x 8 matrices to the rows whose addresses the lanes give.
__device__ inline void stmatrix_x4(void* row, std::uint32_t r0, std::uint32_t r1, std::uint32_t r2,
                                   std::uint32_t r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(row))),
               "r"(r0), "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}
// The same, each matrix transposed on its way: a lane's address is that of a column.
__device__ inline void stmatrix_x4_trans(void* column, std::uint32_t r0, std::uint32_t r1,
                                         std::uint32_t r2, std::uint32_t r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(column))),
               "r"(r0), "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}
#endif

}  // namespace ptx
