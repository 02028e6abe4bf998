// Who takes dQ to memory: a warpgroup leaves its part of a tile in shared memory, and a thread of
// the feeding warpgroup has TMA add it to what others have added. Where d is 256 there is no room
// left in shared memory: there the warpgroup adds its registers itself, four at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_blocks.cuh"
#include "07_flash_attention/backward/kit/dq_fragments.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/mbarrier.cuh"
#include "common/kit/ptx/tma.cuh"

namespace backward {

template <class Tile>
struct DqCourier {
  static constexpr bool kByTma = Tile::kD < 256;
  alignas(128) float part[2][kByTma ? Tile::kDqPart : 1];  // of each warpgroup
  std::uint64_t full[2], empty[2];
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
template <class Tile>
__device__ __forceinline__ void init_courier(DqCourier<Tile>& courier) {
  kit::init_stages(courier.empty, courier.full, 4);  // a part is full when four warps say so
}

// Warpgroup w hands its part over; `phase` is that of its steps: 0, 1, 0, ... `to`: in memory.
template <class Tile>
__device__ __forceinline__ void hand_over(DqCourier<Tile>& courier,
                                          const float (&dq)[Tile::kDqCols / 2], float* to, int w,
                                          std::uint32_t phase) {
  const int thread = threadIdx.x % 128;
  if constexpr (DqCourier<Tile>::kByTma) {
    kit::wait(&courier.empty[w], phase ^ 1);  // TMA has read the part of the step before
    auto* part = reinterpret_cast<float4*>(courier.part[w]) + thread;
#pragma unroll
    for (int i = 0; i < Tile::kDqCols / 2; i += 4) {
      part[i / 4 * 128] = make_float4(dq[i], dq[i + 1], dq[i + 2], dq[i + 3]);
    }
    ptx::fence_proxy_async();
    __syncwarp();
    kit::release(&courier.full[w]);
  } else {
    auto* part = reinterpret_cast<float4*>(to) + thread;
#pragma unroll
    for (int i = 0; i < Tile::kDqCols / 2; i += 4) {
      add_four(part + i / 4 * 128, make_float4(dq[i], dq[i + 1], dq[i + 2], dq[i + 3]));
    }
  }
}

// The courier of warpgroup w, one thread: takes a part that is full to `to`.
template <class Tile>
__device__ __forceinline__ void take_part(DqCourier<Tile>& courier, float* to, int w,
                                          std::uint32_t phase) {
  kit::wait(&courier.full[w], phase);
  ptx::cp_reduce_async_bulk_add(to, courier.part[w], sizeof(courier.part[w]));
  ptx::bulk_commit_group();
  ptx::bulk_wait_group_read<0>();
  ptx::mbarrier_arrive(&courier.empty[w]);
}
#endif

}  // namespace backward
