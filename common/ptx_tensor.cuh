// PTX instructions for kernels built around the copy engine (TMA): tiles of tensors between global
// and shared memory, the order between that engine and ordinary accesses, and what blocks of
// specialised warps need. One function each, under their PTX names (PTX ISA 8.0, "Data Movement and
// Conversion Instructions" and "Parallel Synchronization"). They exist in code for sm_90 or newer
// only; setmaxnreg in code for one architecture (sm_90a) only.
#pragma once

#include <cuda.h>  // CUtensorMap
#include <cuda_runtime.h>

#include <cstdint>

#include "common/ptx.cuh"

namespace ptx {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// --- the copy engine -------------------------------------------------------------------------

// Brings the description of a tensor into the cache, ahead of its first use.
__device__ inline void prefetch_tensormap(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Has the copy engine bring the box whose first element is (c0, c1, ...) to shared memory and
// report its bytes to the barrier. c0 counts elements along the contiguous dimension. What lies
// outside the tensor arrives as zeros, and counts. By one thread; returns at once. `shared` is
// aligned to 128 bytes, to 1024 where the map swizzles by 128 bytes.
__device__ inline void tensor_load(void* shared, const CUtensorMap* map, int c0, int c1,
                                   std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(shared)),
      "l"(map), "r"(c0), "r"(c1), "r"(shared_address(barrier))
      : "memory");
}
__device__ inline void tensor_load(void* shared, const CUtensorMap* map, int c0, int c1, int c2,
                                   std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(shared_address(shared)),
      "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(shared_address(barrier))
      : "memory");
}
__device__ inline void tensor_load(void* shared, const CUtensorMap* map, int c0, int c1, int c2,
                                   int c3, std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(shared_address(shared)),
      "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(shared_address(barrier))
      : "memory");
}

// The same to every block of the cluster whose bit is set in `mask`: to the same place in its
// shared memory, reported to its barrier at the same place.
__device__ inline void tensor_load_multicast(void* shared, const CUtensorMap* map, int c0, int c1,
                                             std::uint64_t* barrier, std::uint16_t mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(shared)),
      "l"(map), "r"(c0), "r"(c1), "r"(shared_address(barrier)), "h"(mask)
      : "memory");
}
__device__ inline void tensor_load_multicast(void* shared, const CUtensorMap* map, int c0, int c1,
                                             int c2, std::uint64_t* barrier, std::uint16_t mask) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared_address(shared)),
      "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(shared_address(barrier)), "h"(mask)
      : "memory");
}

// Has the copy engine write a box from shared memory to the tensor, leaving out what lies outside.
// The copy joins the open group of the thread that calls this: only that thread can wait for it.
__device__ inline void tensor_store(const CUtensorMap* map, const void* shared, int c0, int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
      "r"(c0), "r"(c1), "r"(shared_address(shared))
      : "memory");
}
__device__ inline void tensor_store(const CUtensorMap* map, const void* shared, int c0, int c1,
                                    int c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(
          map),
      "r"(c0), "r"(c1), "r"(c2), "r"(shared_address(shared))
      : "memory");
}
__device__ inline void tensor_store(const CUtensorMap* map, const void* shared, int c0, int c1,
                                    int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3, %4}], "
      "[%5];" ::"l"(map),
      "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(shared_address(shared))
      : "memory");
}

// Closes the thread's group of stores and opens the next.
__device__ inline void bulk_commit_group() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until all but the kPending youngest groups of this thread are done: until their shared
// memory has been read and may be written again, or until everything has arrived.
template <int kPending>
__device__ inline void bulk_wait_group_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
template <int kPending>
__device__ inline void bulk_wait_group() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}

// The copy engine and wgmma read shared memory by another way (the "async proxy"). Every thread
// that wrote what they shall read calls this after writing and before the barrier that tells them.
__device__ inline void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// --- warps with different jobs ---------------------------------------------------------------

// Barrier `id` (1 .. 15; 0 is __syncthreads) for `threads` threads, a multiple of 32: waits until
// so many have come, or only says that this warp has come.
__device__ inline void named_barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ inline void named_barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// True in one lane of the warp, always the same one. All 32 lanes call it.
__device__ inline bool elect_one() {
  std::uint32_t elected;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(elected));
  return elected != 0;
}

// --- clusters: blocks that see each other's shared memory --------------------------------------

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

// mbarrier_arrive on the barrier at the same place in block `rank` of the cluster.
__device__ inline void mbarrier_arrive_cluster(std::uint64_t* barrier, std::uint32_t rank) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                   map_shared_rank(barrier, rank))
               : "memory");
}

// The same where nothing that this thread wrote is handed over, so the arrival need not be a
// release for the whole cluster: that would cost a memory barrier each time.
__device__ inline void mbarrier_arrive_remote(std::uint64_t* barrier, std::uint32_t rank) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(map_shared_rank(barrier, rank))
               : "memory");
}

// mbarrier_try_wait_parity for a barrier at which threads of other blocks arrive.
__device__ inline bool mbarrier_try_wait_parity_cluster(std::uint64_t* barrier,
                                                        std::uint32_t parity) {
  std::uint32_t done;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(done)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return done != 0;
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
