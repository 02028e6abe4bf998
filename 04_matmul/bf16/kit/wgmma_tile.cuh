// One k tile, multiplied by wgmma out of shared memory, and the registers of those who do it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/bf16/kit/hopper_tile.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::bf16 {

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
#endif

}  // namespace matmul::bf16
