// Swizzled tiles in shared memory: how they come there by way of registers, and their products by
// mma.sync, for one warp.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace attention {

// Copies kRows rows from row `first` of a head with n rows into a tile, in chunks of 16 bytes, 8
// elements; zeros after the last row. By kThreads threads.
template <int kD, int kRows, int kThreads, class T>
__device__ void load_swizzled_tile(uint4* tile, const T* heads, std::int64_t head, int first,
                                   int n) {
  const auto* source = reinterpret_cast<const uint4*>(heads + (head * n + first) * kD);
  for (int i = threadIdx.x; i < kRows * kD / 8; i += kThreads) {
    const int row = i / (kD / 8), chunk = i % (kD / 8);
    tile[kit::swizzled_chunk<kD / 8>(row, chunk)] =
        first + row < n ? source[i] : make_uint4(0, 0, 0, 0);
  }
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// The products. c: accumulators of kGroups times 16 rows; tiles have kChunks chunks a row.
// (The rung `swizzled` of the forward pass in 16 bits has these loops written out.)

// c += A B^T: A is the rows of a tile from row `first` on, B all rows of another one.
template <class T, int kChunks, int kGroups, int kCount>
__device__ void multiply_transposed(float (*c)[kCount], const uint4* a, int first, const uint4* b,
                                    int lane) {
#pragma unroll
  for (int k = 0; k < kChunks; k += 2) {  // 16 columns of both
    std::uint32_t of_a[kGroups][4], of_b[4];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int row = first + 16 * g + lane % 16;
      ptx::ldmatrix_x4(of_a[g], &a[kit::swizzled_chunk<kChunks>(row, k + lane / 16)]);
    }
#pragma unroll
    for (int j = 0; j < kCount / 8; ++j) {
      const int row = 16 * j + lane / 16 * 8 + lane % 8;
      ptx::ldmatrix_x4(of_b, &b[kit::swizzled_chunk<kChunks>(row, k + lane / 8 % 2)]);
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        ptx::mma_m16n8k16<T>(ptx::four(&c[g][8 * j]), of_a[g], of_b[0], of_b[1]);
        ptx::mma_m16n8k16<T>(ptx::four(&c[g][8 * j + 4]), of_a[g], of_b[2], of_b[3]);
      }
    }
  }
}

// c += A B: A, with 16 kSteps columns, lies in registers; B is as many rows of a tile, and of their
// columns those from chunk `first` on.
template <class T, int kChunks, int kGroups, int kCount, int kSteps>
__device__ void multiply_registers(float (*c)[kCount], const std::uint32_t (*a)[kSteps][4],
                                   const uint4* b, int first, int lane) {
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
#pragma unroll
    for (int j = 0; j < kCount / 8; ++j) {
      std::uint32_t of_b[4];
      const int row = 16 * k + lane % 16, chunk = first + 2 * j + lane / 16;
      ptx::ldmatrix_x4_trans(of_b, &b[kit::swizzled_chunk<kChunks>(row, chunk)]);
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        ptx::mma_m16n8k16<T>(ptx::four(&c[g][8 * j]), a[g][k], of_b[0], of_b[1]);
        ptx::mma_m16n8k16<T>(ptx::four(&c[g][8 * j + 4]), a[g][k], of_b[2], of_b[3]);
      }
    }
  }
}
#endif

}  // namespace attention
