// A block's tile of a matrix product on Hopper: how TMA brings it to shared memory, how a warpgroup
// multiplies it by wgmma, and how C leaves the accumulators, straight from the registers or by TMA.
//
// A row of a tile has 128 bytes, 64 elements. Its chunks of 16 bytes are swizzled
// (common/kit/swizzle.cuh), so that nobody meets a bank conflict, and tiles begin at multiples of
// 1024 bytes, eight rows.
// - A, and B as n x k: a row of the tile is a row of the matrix, 64 values of k (K-major).
// - B as k x n: a row of the tile is 64 columns of one value of k (MN-major). 64 such rows make a
//   slab, and the tile has a slab for every 64 columns.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"
#include "common/kit/tensor_map.cuh"

namespace matmul::bf16 {

constexpr int kTileK = 64;                  // values of k in a tile
constexpr int kRowBytes = 128;              // of a row of a tile
constexpr int kSlabBytes = 64 * kRowBytes;  // of 64 rows

// A matrix as TMA sees it: boxes of box_rows rows and 64 columns. It asks the L2 cache for 128
// bytes at a time, as much as a row of a box has: where rows do not begin at multiples of 256
// bytes, twice as much would fetch some of it in vain.
inline CUtensorMap map_of_rows(const __nv_bfloat16* x, int rows, int cols, int box_rows) {
  const auto width = static_cast<std::uint64_t>(cols), height = static_cast<std::uint64_t>(rows);
  return kit::tensor_map(x, {width, height}, {sizeof *x * width},
                         {64, static_cast<std::uint32_t>(box_rows)},
                         CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
}
// B as n x k in boxes for `cols` columns of the product, as k x n in slabs.
template <bool kTransposedB>
CUtensorMap map_of_b(const __nv_bfloat16* b, int n, int k, int cols) {
  return kTransposedB ? map_of_rows(b, n, k, cols) : map_of_rows(b, k, n, kTileK);
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Issues the load of B's tile: kCols columns of the product from `col` on, 64 values of k from `p`.
template <bool kTransposedB, int kCols>
__device__ inline void issue_b(void* to, const CUtensorMap* map_b, int p, int col,
                               std::uint64_t* barrier) {
  if constexpr (kTransposedB) {
    ptx::tensor_load(to, map_b, p, col, barrier);
  } else {
#pragma unroll
    for (int s = 0; s < kCols / 64; ++s) {
      ptx::tensor_load(static_cast<unsigned char*>(to) + s * kSlabBytes, map_b, col + 64 * s, p,
                       barrier);
    }
  }
}
#endif

// The tile of C that a block computes, what one k tile takes of A and B (a stage), and a ring of
// kStages of them.
template <int kTileM_, int kTileN_, int kStages_>
struct GemmTile {
  static constexpr int kTileM = kTileM_, kTileN = kTileN_, kStages = kStages_;
  static constexpr int kBytesA = kTileM * kRowBytes, kBytesB = kTileN * kRowBytes;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static constexpr int kRingBytes = kStages * kStageBytes;
  // A producer warpgroup and two consumer warpgroups. Registers of a thread of either, as
  // setmaxnreg deals them out: 128 x 40 + 256 x 232 = 384 x 168, all that an SM has for them.
  static constexpr int kThreads = 3 * 128;
  static constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;
  static_assert(kTileM % 64 == 0 && kTileM <= 256, "wgmma takes 64 rows, a box has at most 256");
  static_assert(kTileN % 64 == 0 && kTileN <= 256, "a slab has 64 columns, wgmma takes up to 256");
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Issues the products of one k tile: adds them to the accumulators of a warpgroup, 64 rows by
// 2 kCount columns, by four wgmma of 16 values of k each. The first tile sets the accumulators, so
// they need not be cleared. Does not wait. kTransposedA: A's tile is a slab of 64 rows of the
// product (MN-major), as B's is where B is k x n.
template <bool kTransposedB, bool kTransposedA = false, int kCount>
__device__ inline void issue_k_tile(float (&acc)[kCount], const unsigned char* a,
                                    const unsigned char* b, bool first) {
  constexpr int kTransA = kTransposedA ? 1 : 0, kTransB = kTransposedB ? 0 : 1;  // MN-major
  constexpr int kEightRows = 8 * kRowBytes;
  // A descriptor tells wgmma where a tile begins, how far its next eight rows are, and, of an
  // MN-major one, how far its next slab is.
  const std::uint64_t from_a = ptx::descriptor_128B(a, 0, kEightRows);
  const std::uint64_t from_b = ptx::descriptor_128B(b, kTransposedB ? 0 : kSlabBytes, kEightRows);
#pragma unroll
  for (int q = 0; q < kTileK / 16; ++q) {
    // 16 values of k further: 32 bytes along a row, or 16 rows down a slab.
    ptx::wgmma_bf16<kTransB, kTransA>(
        acc, ptx::advance(from_a, kTransposedA ? 16 * kRowBytes * q : 32 * q),
        ptx::advance(from_b, kTransposedB ? 32 * q : 16 * kRowBytes * q), !first || q > 0);
  }
}

// Rounds the accumulators, 64 rows by 2 kCount columns, and stores them at (row, col): two
// neighbours at a time, as far as they are inside. n is even.
template <int kCount>
__device__ inline void store_accumulators(const float (&acc)[kCount], __nv_bfloat16* c, int row,
                                          int col, int m, int n) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    const int y = row + 16 * warp + lane / 4 + i / 2 % 2 * 8;
    const int x = col + i / 4 * 8 + lane % 4 * 2;
    if (y < m && x < n) {
      *reinterpret_cast<__nv_bfloat162*>(c + static_cast<std::int64_t>(y) * n + x) =
          __floats2bfloat162_rn(acc[i], acc[i + 1]);
    }
  }
}
#endif

constexpr int kStagingSlabs = 2;
constexpr int kStagingBytes = kStagingSlabs * kSlabBytes;  // of a warpgroup

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Rounds the accumulators of a warpgroup, 64 rows by 2 kCount columns, and has TMA store them at
// (row, col), slab by slab. Returns before they have arrived. `barrier`: of this warpgroup.
template <int kCount>
__device__ inline void store_by_tma(const float (&acc)[kCount], unsigned char* staging,
                                    const CUtensorMap* map_c, int row, int col, int barrier) {
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const int y = 16 * warp + lane % 16;  // the row whose address this lane gives to stmatrix
#pragma unroll
  for (int s = 0; s < kCount / 32; ++s) {
    // Only the thread that issued a store can wait until TMA has read the slab.
    unsigned char* const slab = staging + s % kStagingSlabs * kSlabBytes;
    if (thread == 0) ptx::bulk_wait_group_read<kStagingSlabs - 1>();
    ptx::named_barrier_sync(barrier, 128);  // the slab is free

    // 16 columns at a time, swizzled as TMA expects them; lanes 16 .. 31 address the right half.
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float* d = &acc[32 * s + 8 * j];
      const int chunk = (2 * j + lane / 16) ^ (y % 8);
      ptx::stmatrix_x4(slab + y * kRowBytes + chunk * 16, ptx::pack_bf16(d[0], d[1]),
                       ptx::pack_bf16(d[2], d[3]), ptx::pack_bf16(d[4], d[5]),
                       ptx::pack_bf16(d[6], d[7]));
    }

    // TMA reads by another way: every thread that wrote makes its writes visible to it.
    ptx::fence_proxy_async();
    ptx::named_barrier_sync(barrier, 128);  // the slab is complete
    if (thread == 0) {
      ptx::tensor_store(map_c, slab, col + 64 * s, row);
      ptx::bulk_commit_group();
    }
  }
  // The next call begins with the first slab again, perhaps the one that was used last.
  if (kCount / 32 % kStagingSlabs != 0 && thread == 0) ptx::bulk_wait_group_read<0>();
}
#endif

}  // namespace matmul::bf16
