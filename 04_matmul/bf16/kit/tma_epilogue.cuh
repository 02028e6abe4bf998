// The way of C out of the accumulators by way of shared memory, from where TMA stores it.
#pragma once

#include <cuda_runtime.h>

#include "04_matmul/bf16/kit/tma_operands.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"

namespace matmul::bf16 {

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
