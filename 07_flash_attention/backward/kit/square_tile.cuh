// How the rung square_tiles cuts up its work, and its products.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/mma_tile.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace backward {

// A warp has 32 keys, and kSharers warps the same ones: of the scores each computes those of kOwn
// queries, of dK and dV it has kCols columns. Where d is 64 a warp has all columns of its keys, and
// two blocks of four warps share an SM. Of dQ a warp has 32 queries and kDqCols columns.
template <int kD>
struct SquareTile {
  static constexpr int kWarps = kD == 64 ? 4 : 8, kThreads = 32 * kWarps;
  static constexpr int kBlocks = 8 / kWarps;           // on an SM
  static constexpr int kKeys = kD == 256 ? 64 : 128;   // of a block
  static constexpr int kQueries = kD == 64 ? 32 : 64;  // of a step
  static constexpr int kSharers = kWarps * 32 / kKeys;
  static constexpr int kOwn = kQueries / kSharers, kCols = kD / kSharers;
  static constexpr int kDqGroups = kQueries / 32;  // of 32 queries
  static constexpr int kDqCols = kD * kDqGroups / kWarps;
  static constexpr int kChunks = kD / 8, kPairChunks = kQueries / 8;  // of 16 bytes, a row's
  static constexpr bool kExchange = kSharers > 1;

  // Two buffers for what belongs to a step.
  struct Shared {
    uint4 k[kKeys * kChunks], v[kKeys * kChunks];
    uint4 q[2][kQueries * kChunks], d_o[2][kQueries * kChunks];
    uint4 ds[kKeys * kPairChunks];                 // dS^T: [key][query]
    uint4 p[kExchange ? kKeys * kPairChunks : 1];  // P^T
    float lse2[2][kQueries], mean[2][kQueries];
  };
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// Two operands A of 16 x 16, one below the other, from row `row` and column `8 chunk` on.
template <int kChunks>
__device__ __forceinline__ void load_a(std::uint32_t (&a)[2][4], const uint4* tile, int row,
                                       int chunk) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int m = 0; m < 2; ++m) {
    const int at = kit::swizzled_chunk<kChunks>(row + 16 * m + lane % 16, chunk + lane / 16);
    ptx::ldmatrix_x4(a[m], &tile[at]);
  }
}

// c = A B^T for a warp: A is 32 rows of a swizzled tile from row `first` on, B kRows rows of
// another one from row `b_first` on, both with kChunks chunks a row.
template <class T, int kChunks, int kRows>
__device__ __forceinline__ void multiply_square(float (&c)[2][kRows / 2], const uint4* a, int first,
                                                const uint4* b, int b_first) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < kChunks; k += 2) {  // 16 columns of both
    std::uint32_t of_a[2][4], of_b[4];
    load_a<kChunks>(of_a, a, first, k);
#pragma unroll
    for (int j = 0; j < kRows / 16; ++j) {
      const int row = b_first + 16 * j + lane / 16 * 8 + lane % 8;
      ptx::ldmatrix_x4(of_b, &b[kit::swizzled_chunk<kChunks>(row, k + lane / 8 % 2)]);
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        ptx::mma_m16n8k16<T>(ptx::four(&c[m][8 * j]), of_a[m], of_b[0], of_b[1]);
        ptx::mma_m16n8k16<T>(ptx::four(&c[m][8 * j + 4]), of_a[m], of_b[2], of_b[3]);
      }
    }
  }
}

// c += A B for a warp: A is 32 x 16, in registers; B is rows `row` to row + 15 of a swizzled tile,
// and of their columns those from chunk `first` on.
template <class T, int kChunks, int kCols>
__device__ __forceinline__ void add_product_of_16(float (&c)[2][kCols / 2],
                                                  const std::uint32_t (&a)[2][4], const uint4* b,
                                                  int row, int first) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int j = 0; j < kCols / 16; ++j) {
    std::uint32_t of_b[4];
    const int chunk = first + 2 * j + lane / 16;
    ptx::ldmatrix_x4_trans(of_b, &b[kit::swizzled_chunk<kChunks>(row + lane % 16, chunk)]);
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      ptx::mma_m16n8k16<T>(ptx::four(&c[m][8 * j]), a[m], of_b[0], of_b[1]);
      ptx::mma_m16n8k16<T>(ptx::four(&c[m][8 * j + 4]), a[m], of_b[2], of_b[3]);
    }
  }
}
#endif

}  // namespace backward
