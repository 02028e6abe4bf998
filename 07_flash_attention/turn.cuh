// Ping-pong: warpgroups take turns at the tensor cores.
#pragma once

#include <cuda_runtime.h>

#include "common/kit/ptx/roles.cuh"

namespace attention {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Warpgroups 1 .. kConsumers take turns: each waits until the one before it has passed the turn on.
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

}  // namespace attention
