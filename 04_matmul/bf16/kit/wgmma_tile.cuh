// A block's tile for wgmma, as template parameters, and what a warpgroup does by itself: it
// multiplies a k tile out of shared memory, and stores its accumulators straight from their
// registers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/bf16/kit/tma_operands.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::bf16 {

// The tile of C that a block computes, what one k tile takes of A and B (a stage), and a ring of
// kStages of them.
template <int kTileM_, int kTileN_, int kStages_>
struct HopperTile {
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

}  // namespace matmul::bf16
