// How the rung for mma.sync cuts up its work, and its products.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace backward {

// A warp has 16 keys; where d is 256, two warps share 16 keys and each has half of the columns of
// dK and dV, as all of them would be more registers than a thread can have. For dQ a warp has 32
// queries.
template <int kD>
struct MmaTile {
  static constexpr int kWarps = 8, kThreads = 32 * kWarps;
  static constexpr int kSplit = kD == 256 ? 2 : 1;         // warps that share keys
  static constexpr int kCols = kD / kSplit;                // of dK and dV, a warp's
  static constexpr int kKeys = 16 * kWarps / kSplit;       // of a block
  static constexpr int kQueries = kD == 256 ? 32 : 64;     // of a step
  static constexpr int kDqGroups = kQueries / 32;          // of 32 queries
  static constexpr int kDqCols = kD * kDqGroups / kWarps;  // of dQ, a warp's
  static constexpr int kChunks = kD / 8, kSlab = kChunks;  // of 16 bytes, a row's

  // Where eight queries of a key lie in a tile of dS^T.
  __device__ static constexpr int ds_chunk(int key, int chunk) {
    return kit::swizzled_chunk<kQueries / 8>(key, chunk);
  }
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// c = A B^T for a warp: A is 16 rows of a swizzled tile from row `first`, B all kRows rows of
// another, both with kChunks chunks a row. c: 16 x kRows.
template <class T, int kChunks, int kRows>
__device__ void multiply_transposed(float (&c)[kRows / 2], const uint4* a, int first,
                                    const uint4* b) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < kChunks; k += 2) {  // 16 columns of both
    std::uint32_t of_a[4], of_b[4];
    ptx::ldmatrix_x4(of_a, &a[kit::swizzled_chunk<kChunks>(first + lane % 16, k + lane / 16)]);
#pragma unroll
    for (int j = 0; j < kRows / 16; ++j) {
      const int row = 16 * j + lane / 16 * 8 + lane % 8;
      ptx::ldmatrix_x4(of_b, &b[kit::swizzled_chunk<kChunks>(row, k + lane / 8 % 2)]);
      ptx::mma_m16n8k16<T>(ptx::four(&c[8 * j]), of_a, of_b[0], of_b[1]);
      ptx::mma_m16n8k16<T>(ptx::four(&c[8 * j + 4]), of_a, of_b[2], of_b[3]);
    }
  }
}

// c += A B for a warp: A, 16 x 16 kSteps, lies in registers; B is the same number of rows of a
// swizzled tile, and of their columns those from chunk `first` on. c: 16 x kCols.
template <class T, int kChunks, int kCols, int kSteps>
__device__ void multiply_registers(float (&c)[kCols / 2], const std::uint32_t (&a)[kSteps][4],
                                   const uint4* b, int first) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
#pragma unroll
    for (int j = 0; j < kCols / 16; ++j) {
      std::uint32_t of_b[4];
      const int chunk = first + 2 * j + lane / 16;
      ptx::ldmatrix_x4_trans(of_b, &b[kit::swizzled_chunk<kChunks>(16 * k + lane % 16, chunk)]);
      ptx::mma_m16n8k16<T>(ptx::four(&c[8 * j]), a[k], of_b[0], of_b[1]);
      ptx::mma_m16n8k16<T>(ptx::four(&c[8 * j + 4]), a[k], of_b[2], of_b[3]);
    }
  }
}
#endif

}  // namespace backward
