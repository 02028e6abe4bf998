// SPDX-License-Identifier: MIT
// Thread block clusters: blocks that see each other's shared memory. One function for each PTX
// instruction, under its PTX name (PTX ISA 8.0: barrier.cluster, mapa, mbarrier). They exist in
// code for sm_90 or newer only.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/tma.cuh"

namespace ptx {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// This block's number in its cluster.
__device__ inline std::uint32_t cluster_rank() {
  std::uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// A barrier of all threads of all blocks of the cluster, in two halves; both by whole warps.
__device__ inline void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ inline void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Where the variable that lies at `pointer` in this block lies in block `rank` of the cluster.
__device__ inline std::uint32_t map_shared_rank(const void* pointer, std::uint32_t rank) {
  std::uint32_t address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(address)
               : "r"(shared_address(pointer)), "r"(rank));
  return address;
}

// Arrives at the barrier at the same place in block `rank` of the cluster, where nothing that this
// thread wrote is handed over: so the arrival need not be a release for the whole cluster, which
// would cost a memory barrier each time.
__device__ inline void mbarrier_arrive_remote(std::uint64_t* barrier, std::uint32_t rank) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(map_shared_rank(barrier, rank))
               : "memory");
}

// Has TMA copy `bytes` (a multiple of 16) of this block's shared memory to where `to` lies in block
// `rank` of the cluster, and report them to the barrier at the same place as `barrier` there. Both
// aligned to 16 bytes. By one thread; returns at once.
__device__ inline void cp_async_bulk_to_rank(void* to, const void* from, std::uint32_t bytes,
                                             std::uint64_t* barrier, std::uint32_t rank) {
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
      "[%0], [%1], %2, [%3];" ::"r"(map_shared_rank(to, rank)),
      "r"(shared_address(from)), "r"(bytes), "r"(map_shared_rank(barrier, rank))
      : "memory");
}
#endif

}  // namespace ptx
