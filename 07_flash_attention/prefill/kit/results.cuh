// How a warpgroup's 64 rows leave: the log-sum-exp by threads, O by way of shared memory and TMA.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/kit/attention_tile.cuh"
#include "07_flash_attention/kit/persistent_shared.cuh"
#include "07_flash_attention/prefill/kit/clipped_maps.cuh"
#include "07_flash_attention/prefill/shape.hpp"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"

namespace prefill {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// The log-sum-exp of a lane's two rows: each is a head of one of the n_q queries of a sequence
// whose first token is `first`. By whole warps, which meet again at the end.
template <class T>
__device__ __forceinline__ void store_lse(const Tensors<T>& t, std::int64_t q_tokens, int first,
                                          int n_q, const int (&heads)[2], const int (&queries)[2],
                                          const float (&lse)[2]) {
  for (int r = 0; r < 2; ++r) {
    if (threadIdx.x % 4 != 0 || queries[r] >= n_q) continue;
    t.lse[heads[r] * q_tokens + first + queries[r]] = lse[r];
  }
  __syncwarp();
}
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// A warpgroup's rows of O go to `buffer`, its own, and from there by TMA: `heads` heads from `head`
// on, of the tokens from `first` on, of which `count` belong to the sequence. Does not wait for it:
// the next call does, before it writes to the buffer, unless kIsFree: all threads know then that it
// has been read.
template <class Tile, bool kIsFree = false>
__device__ __forceinline__ void store_clipped(const attention::AttentionMaps& maps,
                                              unsigned char* buffer, const float (&o)[Tile::kD / 2],
                                              int warpgroup, int head, int first, int count,
                                              int heads = 1) {
  using T = typename Tile::Element;
  constexpr int kColumns = attention::kOColumns<Tile>, kSlabBytes = 64 * 128;
  const int thread = threadIdx.x % 128, lane = thread % 32, row = thread / 32 * 16 + lane % 16;
  const int barrier = 1 + Tile::kConsumers + warpgroup;
  // With d = 256 there is room for half of O: it leaves in two parts.
#pragma unroll
  for (int part = 0; part < Tile::kD / kColumns; ++part) {
    if (part > 0 || !kIsFree) attention::wait_until_read(barrier);
#pragma unroll
    for (int c = 0; c < kColumns / 16; ++c) {
      const int i = part * kColumns / 2 + 8 * c;
      ptx::stmatrix_x4(buffer + attention::slab_offset(row, 2 * c + lane / 16, kSlabBytes),
                       ptx::pack<T>(o[i], o[i + 1]), ptx::pack<T>(o[i + 2], o[i + 3]),
                       ptx::pack<T>(o[i + 4], o[i + 5]), ptx::pack<T>(o[i + 6], o[i + 7]));
    }
    ptx::fence_proxy_async();  // TMA reads what all 128 threads wrote
    ptx::named_barrier_sync(barrier, 128);
    if (thread != 0 || count <= 0) continue;
    const ClippedBox box = clipped_box(64 / heads, first, count);
    for (int slab = 0; slab < kColumns / 64; ++slab) {
      ptx::tensor_store(&maps.o, buffer + slab * kSlabBytes, 0, head, box.row,
                        part * kColumns / 64 + slab, box.behind);
    }
    ptx::bulk_commit_group();
  }
}
#endif

}  // namespace prefill
