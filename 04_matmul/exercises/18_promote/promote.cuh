// Exercise 04/promote: sums that leave the tensor cores every 128 values of k.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

constexpr int kTileM = 64, kTileN = 8, kTileK = 128;  // a row along k is 128 bytes

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// d = A B + (accumulate ? d : 0) for a warpgroup: A is 64 x 32, B is 32 x 8, both E4M3.
// (common/kit/ptx/wgmma.cuh has its larger sisters.)
__device__ inline void wgmma_m64n8k32(float (&d)[4], std::uint64_t a, std::uint64_t b,
                                      bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0, %1, %2, %3}, %4, %5, p, 1, 1;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// Issues the products of two tiles, 128 values of k: d = A B + (accumulate ? d : 0). Does not wait.
__device__ inline void issue_products(float (&d)[4], const unsigned char* tile_a,
                                      const unsigned char* tile_b, bool accumulate) {
  const std::uint64_t a = ptx::descriptor_128B(tile_a, 0, 1024);
  const std::uint64_t b = ptx::descriptor_128B(tile_b, 0, 1024);
  for (int q = 0; q < kTileK; q += 32) {
    wgmma_m64n8k32(d, ptx::advance(a, q), ptx::advance(b, q), accumulate || q > 0);
  }
}
#endif

// C = A B^T for 64 rows of A a block: A is m x k, B is 8 x k, both bytes of E4M3, C is m x 8, all
// row-major, in device memory, aligned to 16 bytes; m is a multiple of 64, k of 16.
__global__ void multiply_kernel(const unsigned char* a, const unsigned char* b, float* c, int k) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ alignas(1024) unsigned char tile_a[kTileM * kTileK], tile_b[kTileN * kTileK];
  const int t = threadIdx.x, warp = t / 32, lane = t % 32;
  a += static_cast<long long>(blockIdx.x) * kTileM * k;
  c += static_cast<long long>(blockIdx.x) * kTileM * kTileN;

  // Loads the tile of `rows` rows that begins at p, 16 bytes at a time, each where a swizzle of 128
  // bytes has it. Zeros past the end of a row.
  const auto load = [=](unsigned char* tile, const unsigned char* from, int rows, int p) {
    for (int i = t; i < rows * 8; i += 128) {
      const int row = i / 8, chunk = i % 8, at = p + 16 * chunk;
      *reinterpret_cast<uint4*>(tile + ptx::swizzled_128B(row, chunk)) =
          at < k ? *reinterpret_cast<const uint4*>(from + row * k + at) : make_uint4(0, 0, 0, 0);
    }
  };

  float sums[4] = {};
  for (int p = 0; p < k; p += kTileK) {
    load(tile_a, a, kTileM, p);
    load(tile_b, b, kTileN, p);
    ptx::fence_proxy_async();  // wgmma reads by another way than threads write
    __syncthreads();
    //@ task 1: the sums stay in the tensor cores to the end, and lose bits: promote them
    //@ hint: the tensor cores need accumulators of their own, which begin at 0 with each tile
    //@ hint: when they are complete, each thread adds its four of them to its four sums
    //@ hint: complete they are after ptx::wgmma_wait_group<0>(), for all threads alike
    //@ hint: issue_products(acc, tile_a, tile_b, false), and behind the wait: sums[i] += acc[i]
    //@ instead: ptx::fence_registers(sums);
    //@ instead: ptx::wgmma_fence();
    //@ instead: issue_products(sums, tile_a, tile_b, p > 0);
    //@ instead: ptx::wgmma_commit_group();
    //@ instead: ptx::wgmma_wait_group<0>();
    //@ instead: ptx::fence_registers(sums);
    //@ answer: 4, one for each of its sums: the tensor cores have added up 128 products for each
    //@ begin
    float acc[4];
    ptx::wgmma_fence();
    issue_products(acc, tile_a, tile_b, false);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(acc);
    for (int i = 0; i < 4; ++i) sums[i] += acc[i];
    //@ end
    __syncthreads();  // nobody needs the tiles any more
  }
  for (int i = 0; i < 4; ++i) {
    c[(16 * warp + lane / 4 + i / 2 * 8) * kTileN + lane % 4 * 2 + i % 2] = sums[i];
  }
#endif
}

inline void multiply(const unsigned char* a, const unsigned char* b, float* c, int m, int k) {
  multiply_kernel<<<m / kTileM, 128>>>(a, b, c, k);
}
