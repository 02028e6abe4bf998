// What a warpgroup hands over through shared memory: its dS to both warpgroups, its dQ to a
// courier.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_accum.cuh"
#include "07_flash_attention/backward/kit/gradient_tile.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/tma.cuh"

namespace backward {

// dS, for warpgroups that do not wait for each other: stages, each with a barrier that says it is
// full and one that says it is empty. Both warpgroups fill a stage, and both read it.
template <class Tile>
struct DsRing {
  static constexpr int kStages = 2;
  using State = kit::PipelineState<kStages>;

  alignas(1024) unsigned char tile[kStages][Tile::kDsBytes];
  std::uint64_t full[kStages], empty[kStages];

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // By one thread. All 256 that compute fill a stage, and all release it.
  __device__ __forceinline__ void init() {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::mbarrier_init(&full[stage], 256);
      ptx::mbarrier_init(&empty[stage], 256);
    }
  }
  static __device__ __forceinline__ State begin() { return {}; }

  // region hand_over
  // A warpgroup writes its half of dS, for both warpgroups' products.
  __device__ __forceinline__ void put(const State& at,
                                      const std::uint32_t (&ds)[Tile::kTileM / 16][4]) {
    kit::wait_empty(empty, at);
    Warpgroup<Tile>::store_ds(tile[at.stage], ds);
    ptx::fence_proxy_async();
    ptx::mbarrier_arrive(&full[at.stage]);
  }
  // Waits until both halves are there; later this thread has no more use for the stage.
  __device__ __forceinline__ void wait(const State& at) { kit::wait_full(full, at); }
  __device__ __forceinline__ void release(const State& at) {
    ptx::mbarrier_arrive(&empty[at.stage]);
  }
  // endregion
#endif
};

// How dQ leaves a block. A warpgroup leaves its part of a tile here, and a thread of the feeding
// warpgroup, the courier, has TMA add it to what others have added; each of the two warpgroups has
// its own. Where d is 256 there is no room left in shared memory: there the warpgroup adds its
// registers itself.
template <class Tile>
struct DqCourier {
  static constexpr bool kByTma = Tile::kD < 256;
  alignas(128) float part[2][kByTma ? Tile::kDqPart : 1];  // of each warpgroup
  std::uint64_t full[2], empty[2];

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // By one thread. All threads of a warpgroup fill a part.
  __device__ __forceinline__ void init() { kit::init_stages(empty, full, 128); }

  // Warpgroup w hands over its part of the tile; `phase` is that of its steps: 0, 1, 0, ...
  __device__ __forceinline__ void hand_over(const float (&dq)[Tile::kDqCols / 2],
                                            const RowStats& rows, std::int64_t head, int first_row,
                                            int w, std::uint32_t phase) {
    if constexpr (kByTma) {
      kit::wait(&empty[w], phase ^ 1);  // TMA has read the part of the step before
      auto* to = reinterpret_cast<float4*>(part[w]) + threadIdx.x % 128;
#pragma unroll
      for (int i = 0; i < Tile::kDqCols / 2; i += 4) {
        to[i / 4 * 128] = make_float4(dq[i], dq[i + 1], dq[i + 2], dq[i + 3]);
      }
      ptx::fence_proxy_async();
      ptx::mbarrier_arrive(&full[w]);
    } else {
      DqAccum<Tile>::add(DqAccum<Tile>::of(rows, head, first_row, w), dq);
    }
  }

  // region take
  // The courier of warpgroup w, one thread: takes a part that is full to `to`.
  __device__ __forceinline__ void take(float* to, int w, std::uint32_t phase) {
    kit::wait(&full[w], phase);
    ptx::cp_reduce_async_bulk_add(to, part[w], sizeof(part[w]));
    ptx::bulk_commit_group();
    ptx::bulk_wait_group_read<0>();
    ptx::mbarrier_arrive(&empty[w]);
  }
  // endregion

  // All that a courier does, one thread: takes the part of each step, and waits until the last one
  // has been added. role: 1 or 2, the courier of warpgroup role - 1.
  __device__ __forceinline__ void run(const RowStats& rows, const TileRange<Tile>& steps,
                                      int role) {
    for (int step = 0; step < steps.count(); ++step) {
      float* to = DqAccum<Tile>::of(rows, steps.head(step), steps.first_row(step), role - 1);
      take(to, role - 1, step % 2);
    }
    ptx::bulk_wait_group<0>();
  }
#endif
};

}  // namespace backward
