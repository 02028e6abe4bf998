// A flag between devices: one says that what it has written is there, another waits for that. Its
// store is a release and its load an acquire, both with the scope of the system.
#pragma once

#include <cuda_runtime.h>

#include <cuda/atomic>

#include "common/kit/devices.cuh"

namespace matmul::sharded {

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;

__device__ inline void set_flag(unsigned* flag) {
  Flag(*flag).store(1, cuda::memory_order_release);
}

// A flag lies on the device that waits: polling asks the own L2 cache, not the link. If nobody
// comes to set it, the kernel ends with an error instead of waiting for ever. An assertion would
// say why, but it calls a function, and a kernel that calls one waits after every wgmma.
__device__ inline void wait_for_flag(unsigned* flag) {
  for (unsigned looks = 0; Flag(*flag).load(cuda::memory_order_acquire) == 0; ++looks) {
    if (looks == kit::kMostLooks) __trap();
  }
}

}  // namespace matmul::sharded
