// Heads whose dQ is complete: told by the kernel that adds it up, waited for by the last kernel,
// which may begin before that one has ended (programmatic dependent launch).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/turns.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/ptx/grid.cuh"
#include "common/kit/ptx/roles.cuh"

namespace backward {

// count: for each K/V head the blocks that have added to dQ of its query heads, of `blocks`; zeros
// before the first launch.
struct HeadsDone {
  int *count, blocks, group;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // By each block of the kernel that adds: once all run, the SMs that they leave are free for the
  // last kernel.
  __device__ void begin() const { ptx::griddepcontrol_launch_dependents(); }
  // By its 256 threads that add, when they have; nobody waits here.
  __device__ void arrive() const { ptx::named_barrier_arrive(7, 288); }
  // By a warp that does not add: tells when they all have.
  __device__ void tell(std::int64_t kv_head) const {
    ptx::named_barrier_sync(7, 288);
    if (threadIdx.x % 32 == 0) Turn{count + kv_head, 0}.pass();
  }

  // By all threads of a block of the last kernel, before it reads dQ of a query head.
  __device__ void wait(std::int64_t head) const {
    if (threadIdx.x == 0) Turn{count + head / group, blocks}.wait();
    __syncthreads();
  }
  // The end of each of its blocks. Whoever comes next in the stream waits for the last kernel
  // alone, so one of its blocks waits for the kernel ahead. If all did, they would keep the SMs.
  __device__ void end() const {
    if (blockIdx.x == gridDim.x - 1) ptx::griddepcontrol_wait();
  }
#endif
};

}  // namespace backward
