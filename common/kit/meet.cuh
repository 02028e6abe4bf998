// SPDX-License-Identifier: MIT
// Blocks of the same number, one on each device, wait for one another.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <cuda/atomic>

#include "common/kit/devices.cuh"
#include "common/kit/patience.cuh"

namespace kit {

// What a block of any device did before is seen by the blocks of this number on all devices behind
// it. peers: with `size`, and the `flags` of every rank, kMostDevices for each block. epoch: the
// same for all of them, and one more each time. All threads must call it.
// A flag lies on the device that waits for it: polling asks the own L2 cache, not the link. Its
// store is a release and its load an acquire, both with the scope of the system: the device's scope
// ends at the device.
template <class Peers>
__device__ void meet(const Peers& peers, int rank, unsigned epoch) {
  using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;
  __syncthreads();  // all the block has done comes before the release of one thread
  const int peer = static_cast<int>(threadIdx.x);
  if (peer < peers.size && peer != rank) {
    const std::int64_t first = std::int64_t{blockIdx.x} * kMostDevices;
    Flag(peers.flags[peer][first + rank]).store(epoch, cuda::memory_order_release);
    Flag told(peers.flags[rank][first + peer]);
    // The peer may be one ahead already.
    Patience patience;
    while (static_cast<int>(told.load(cuda::memory_order_acquire) - epoch) < 0) patience.look();
  }
  __syncthreads();
}

}  // namespace kit
