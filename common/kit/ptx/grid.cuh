// SPDX-License-Identifier: MIT
// Programmatic dependent launch: a kernel that starts before the one before it in its stream has
// ended. One function for each PTX instruction (PTX ISA 8.0: griddepcontrol). They exist in code
// for sm_90 or newer only.
#pragma once

#include <cuda_runtime.h>

namespace ptx {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// A kernel launched with programmatic stream serialization may start before the one before it in
// the stream has ended: as soon as all blocks of that one have called launch_dependents, or ended.
// It then waits here until everything before it has ended and its writes can be seen.
__device__ inline void griddepcontrol_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
__device__ inline void griddepcontrol_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#endif

}  // namespace ptx
