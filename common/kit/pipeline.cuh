// SPDX-License-Identifier: MIT
// A pipeline in shared memory: some warps fill its stages (the producer, most often one thread that
// has TMA do it), others empty them (the consumers). Each stage has two mbarriers: `full` completes
// a phase when the bytes have arrived, `empty` when all consumers have released the stage.
//
// Of a phase only the parity can be asked for. It is that of the trip around the ring: 0, 1, 0, ...
//   stage 0   filled  used    filled  used
//   full[0]   phase 0 done    phase 1 done      consumers wait for 0, then for 1
//   empty[0]          phase 0 done    phase 1   the producer waits for 1, then for 0
// The producer waits for the opposite parity: before its trip t it needs the release of trip t - 1.
// On the first trip nobody has released anything, and a wait for parity 1 of a new barrier passes
// at once, since the phase before its first counts as complete.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"

namespace kit {

// Where somebody is in a ring of kStages stages. Producer and consumers each keep their own.
template <int kStages>
struct PipelineState {
  // region next
  int stage = 0;
  std::uint32_t phase = 0;  // parity of the trip around the ring

  // To the next stage.
  __device__ __forceinline__ void next() {
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
  // endregion

  // Where somebody was before the last next().
  __device__ __forceinline__ PipelineState before() const {
    if (stage > 0) return {stage - 1, phase};
    return {kStages - 1, phase ^ 1};
  }
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Until the barrier's phase with this parity has completed.
__device__ __forceinline__ void wait(std::uint64_t* barrier, std::uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}

// A consumer: until the stage has been filled on this trip.
template <int kStages>
__device__ __forceinline__ void wait_full(std::uint64_t* full, const PipelineState<kStages>& at) {
  wait(&full[at.stage], at.phase);
}

// The producer: until the stage has been released on the trip before.
template <int kStages>
__device__ __forceinline__ void wait_empty(std::uint64_t* empty, const PipelineState<kStages>& at) {
  wait(&empty[at.stage], at.phase ^ 1);
}

// A consumer warp has no more use for a stage: its lanes have all read it, and met since then (at
// __syncwarp, or at the wait for a wgmma that read it). One arrival for each such warp.
__device__ __forceinline__ void release(std::uint64_t* empty) {
  if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(empty);
}

// The barriers of kStages stages: one arrival fills (that of expect_tx), `releases` empty. By one
// thread; ptx::fence_mbarrier_init() and a barrier of the block must follow.
template <int kStages>
__device__ __forceinline__ void init_stages(std::uint64_t (&full)[kStages],
                                            std::uint64_t (&empty)[kStages], int releases) {
  for (int s = 0; s < kStages; ++s) {
    ptx::mbarrier_init(&full[s], 1);
    ptx::mbarrier_init(&empty[s], releases);
  }
}

// Ping-pong: warpgroups 1 .. kConsumers take turns at the tensor cores. Each waits until the one
// before it has passed the turn on.
// Barrier 1 + w is that of warpgroup w; at each, one warpgroup waits and one arrives.
template <int kConsumers>
struct Turn {
  int warpgroup;

  __device__ __forceinline__ void wait() const { ptx::named_barrier_sync(1 + warpgroup, 256); }
  __device__ __forceinline__ void pass_on() const {
    ptx::named_barrier_arrive(1 + (warpgroup == kConsumers ? 1 : warpgroup + 1), 256);
  }
};
#endif

}  // namespace kit
