// SPDX-License-Identifier: MIT
// Fetching ahead of a load (PTX ISA 8.0, "prefetch").
#pragma once

#include <cuda_runtime.h>

namespace ptx {

// Has L2 fetch the line at `global`, or as much of it as L2 fetches at a time. Nobody waits for it.
__device__ inline void prefetch_l2(const void* global) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(global));
}

}  // namespace ptx
