// A ring of stages in shared memory: some warps fill them, others empty them, and two barriers for
// each stage keep them apart: `full` and `empty`.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/ptx.cuh"

// A place in the ring. Those who fill the stages and those who empty them each keep their own.
template <int kStages>
struct RingPlace {
  int stage = 0;
  std::uint32_t phase = 0;  // parity of the round

  __device__ void next() {
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Until the barrier's phase with this parity has completed.
__device__ inline void wait(std::uint64_t* barrier, std::uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}
#endif
