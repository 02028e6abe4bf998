// SPDX-License-Identifier: MIT
// What a block needs whose warps have different roles (warp specialization): barriers for some of
// its warps, registers that change hands. One function for each PTX instruction (PTX ISA 8.0: bar,
// setmaxnreg). They exist in code for sm_90 or newer only; setmaxnreg in code for one architecture
// (sm_90a) only.
#pragma once

#include <cuda_runtime.h>

namespace ptx {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Barrier `id` (1 .. 15; 0 is __syncthreads) for `threads` threads, a multiple of 32: waits until
// so many have come, or only says that this warp has come.
__device__ inline void named_barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ inline void named_barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
#endif

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Gives the warpgroup's threads more registers, waiting until they are free, or gives some back: a
// multiple of 8 from 24 to 256. By all warps of the warpgroup.
template <int kRegisters>
__device__ inline void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
#endif

}  // namespace ptx
