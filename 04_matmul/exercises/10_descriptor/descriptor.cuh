// Exercise 04/descriptor: how wgmma finds a tile in shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/tma.cuh"

constexpr int kTileM = 64, kTileN = 8, kTileK = 64;  // a row along k is 64 bf16: 128 bytes

// The descriptor of a K-major tile with a swizzle of 128 bytes. address: of its first byte in
// shared memory; stride_bytes: from the beginning of eight rows to that of the next eight.
__device__ inline std::uint64_t descriptor(std::uint32_t address, std::uint32_t stride_bytes) {
  //@ task 1: put the fields together; all sizes are kept in units of 16 bytes
  //@ hint: from bit 0: address / 16; from bit 32: stride_bytes / 16; from bit 62: the number 1
  //@ hint: make each field a std::uint64_t before you shift it, or its bits are lost
  //@ hint: address >> 4 | std::uint64_t{stride_bytes >> 4} << 32 | std::uint64_t{1} << 62
  //@ instead: return 0;
  //@ begin
  const std::uint64_t kSwizzle128B = 1;
  return std::uint64_t{address >> 4} | std::uint64_t{stride_bytes >> 4} << 32 | kSwizzle128B << 62;
  //@ end
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// d += A B for a warpgroup: A is 64 x 16, B is 16 x 8, both described. Issues only, does not wait.
// (common/kit/ptx/wgmma.cuh has its larger sisters.)
__device__ inline void wgmma_m64n8k16(float (&d)[4], std::uint64_t a, std::uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, "
      "0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(a), "l"(b));
}
#endif

// C = A B^T for 64 rows of A a block: A is m x 64, B is 8 x 64, C is m x 8, all row-major, in
// device memory; m is a multiple of 64. A and B hold numbers that bf16 can hold.
__global__ void multiply_kernel(const float* a, const float* b, float* c) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ alignas(1024) unsigned char tile_a[kTileM * 128];
  __shared__ alignas(1024) unsigned char tile_b[kTileN * 128];
  const int t = threadIdx.x, warp = t / 32, lane = t % 32;
  a += blockIdx.x * kTileM * kTileK;
  c += blockIdx.x * kTileM * kTileN;

  // Eight elements at a time, each chunk where a swizzle of 128 bytes has it, as TMA would do it.
  const auto store = [](unsigned char* tile, const float* from, int row, int chunk) {
    from += row * kTileK + chunk * 8;
    *reinterpret_cast<uint4*>(tile + ptx::swizzled_128B(row, chunk)) =
        make_uint4(ptx::pack_bf16(from[0], from[1]), ptx::pack_bf16(from[2], from[3]),
                   ptx::pack_bf16(from[4], from[5]), ptx::pack_bf16(from[6], from[7]));
  };
  for (int i = t; i < kTileM * 8; i += 128) store(tile_a, a, i / 8, i % 8);
  for (int i = t; i < kTileN * 8; i += 128) store(tile_b, b, i / 8, i % 8);
  ptx::fence_proxy_async();  // wgmma reads by another way than threads write
  __syncthreads();

  float d[4] = {};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (int q = 0; q < kTileK / 16; ++q) {
    //@ task 2: descriptors of the q-th 16 values of k, in both tiles
    //@ hint: eight rows of 128 bytes lie close together: the next eight begin 1024 bytes further
    //@ hint: 16 bf16 are 32 bytes: in a K-major tile the next 16 lie 32 bytes further in the row
    //@ hint: descriptor(ptx::shared_address(tile_a) + 32 * q, 1024), and the same for B
    //@ instead: const std::uint64_t from_a = 0, from_b = 0;
    //@ begin
    const std::uint64_t from_a = descriptor(ptx::shared_address(tile_a) + 32 * q, 1024);
    const std::uint64_t from_b = descriptor(ptx::shared_address(tile_b) + 32 * q, 1024);
    //@ end
    wgmma_m64n8k16(d, from_a, from_b);
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 4; ++i) {
    c[(16 * warp + lane / 4 + i / 2 * 8) * kTileN + lane % 4 * 2 + i % 2] = d[i];
  }
#endif
}

inline void multiply(const float* a, const float* b, float* c, int m) {
  multiply_kernel<<<m / kTileM, 128>>>(a, b, c);
}
