// SPDX-License-Identifier: MIT
// Fetching ahead of a load (PTX ISA 8.0, "prefetch").
#pragma once

#include <cuda.h>  // CUtensorMap
#include <cuda_runtime.h>

namespace ptx {

// Has L2 fetch the line at `global`, or as much of it as L2 fetches at a time. Nobody waits for it.
__device__ inline void prefetch_l2(const void* global) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(global));
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Has TMA fetch a tensor's map, which its first copy would otherwise wait for.
__device__ inline void prefetch_tensormap(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
#endif

}  // namespace ptx
