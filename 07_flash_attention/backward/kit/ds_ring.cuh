// dS in shared memory, for warpgroups that do not wait for each other: stages, each with a barrier
// that says it is full and one that says it is empty. Both warpgroups fill a stage, and both read
// it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/hopper_tile.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/mbarrier.cuh"
#include "common/kit/ptx/tma.cuh"

namespace backward {

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
  // A warpgroup's part, for the tensor cores, its own and the other's.
  __device__ __forceinline__ void put(const State& at,
                                      const std::uint32_t (&ds)[Tile::kQueries / 16][4]) {
    kit::wait_empty(empty, at);
    Warpgroup<Tile>::store_ds(tile[at.stage], ds);
    ptx::fence_proxy_async();
    ptx::mbarrier_arrive(&full[at.stage]);
  }
  // Until both parts are there; a thread has no more use for the stage.
  __device__ __forceinline__ void wait(const State& at) { kit::wait_full(full, at); }
  __device__ __forceinline__ void release(const State& at) {
    ptx::mbarrier_arrive(&empty[at.stage]);
  }
  // endregion
#endif
};

}  // namespace backward
