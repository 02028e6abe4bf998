// How O leaves a persistent block: by TMA, while the next tile is being computed.
#pragma once

#include <cuda_runtime.h>

#include "07_flash_attention/attention_16bit/kit/hopper_tile.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"

namespace attention {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Has TMA write a warpgroup's 64 rows of O, from row `first_row` of a head, by way of `buffer`, its
// own in shared memory. Does not wait for it: the next call does, before it writes to the buffer.
// Rows past the end are not stored.
template <class Tile>
__device__ __forceinline__ void issue_store(const TensorMaps& maps, unsigned char* buffer,
                                            const float (&o)[Tile::kD / 2], int warpgroup, int head,
                                            int first_row, int n_q) {
  using T = typename Tile::Element;
  constexpr int kSlabBytes = 64 * 128;
  const int t = threadIdx.x % 128, lane = t % 32, row = t / 32 * 16 + lane % 16;
  const int barrier = 1 + Tile::kConsumers + warpgroup;

  // The buffer is free once its last store has read it.
  if (t == 0) ptx::bulk_wait_group_read<0>();
  ptx::named_barrier_sync(barrier, 128);
#pragma unroll
  for (int c = 0; c < Tile::kD / 16; ++c) {
    ptx::stmatrix_x4(buffer + slab_offset(row, 2 * c + lane / 16, kSlabBytes),
                     ptx::pack<T>(o[8 * c], o[8 * c + 1]), ptx::pack<T>(o[8 * c + 2], o[8 * c + 3]),
                     ptx::pack<T>(o[8 * c + 4], o[8 * c + 5]),
                     ptx::pack<T>(o[8 * c + 6], o[8 * c + 7]));
  }

  // TMA reads what all 128 threads wrote.
  ptx::fence_proxy_async();
  ptx::named_barrier_sync(barrier, 128);
  if (t != 0 || first_row >= n_q) return;
  for (int slab = 0; slab < Tile::kD / 64; ++slab) {
    ptx::tensor_store(&maps.o, buffer + slab * kSlabBytes, 0, first_row, slab, head);
  }
  ptx::bulk_commit_group();
}
#endif

}  // namespace attention
