// SPDX-License-Identifier: MIT
// TMA, Hopper's Tensor Memory Accelerator: tiles of tensors between global and shared memory; the
// barriers that its copies report to (mbarrier); and the order between its accesses and ordinary
// ones. One function for each PTX instruction, under its PTX name (PTX ISA 8.0, "Data Movement and
// Conversion Instructions" and, of mbarrier, "Parallel Synchronization and Communication
// Instructions"). They exist in code for sm_90 or newer only.
#pragma once

#include <cuda.h>  // CUtensorMap
#include <cuda_runtime.h>

#include <cstdint>

namespace ptx {

// Where a chunk of 16 bytes lies in a tile that TMA swizzles by 128 bytes
// (CU_TENSOR_MAP_SWIZZLE_128B), in bytes: rows of 128 bytes that begin at a multiple of 1024.
__host__ __device__ constexpr int swizzled_128B(int row, int chunk) {
  return row * 128 + (chunk ^ row % 8) * 16;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// ---------------------------------------------------------------- mbarrier
// Barriers in shared memory that count arrivals and bytes.

// Address of a shared variable as the instructions want it: 32 bits, within shared memory.
__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// A barrier in shared memory for `count` arrivals. By one thread, before anybody else uses it.
__device__ inline void mbarrier_init(std::uint64_t* barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(count));
}

// Releases the mbarrier_init before it to the cluster: behind the barrier of the block or cluster
// that must follow, all who use the mbarriers see them initialised. It is no proxy fence: what
// threads write for TMA to read needs fence_proxy_async.
__device__ inline void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives once. What this thread wrote before is visible to those who see the phase complete.
__device__ inline void mbarrier_arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

// Arrives once, and promises that `bytes` will be delivered by copies that name this barrier.
__device__ inline void mbarrier_arrive_expect_tx(std::uint64_t* barrier, std::uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

// Promises the bytes without arriving.
__device__ inline void mbarrier_expect_tx(std::uint64_t* barrier, std::uint32_t bytes) {
  asm volatile(
      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

// True once the phase with this parity has completed: all arrived, all bytes delivered. Asks and
// returns at once.
__device__ inline bool mbarrier_test_wait_parity(std::uint64_t* barrier, std::uint32_t parity) {
  std::uint32_t done;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(done)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return done != 0;
}

// The same, but the hardware may put the thread to sleep for a while before it answers.
__device__ inline bool mbarrier_try_wait_parity(std::uint64_t* barrier, std::uint32_t parity) {
  std::uint32_t done;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(done)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return done != 0;
}

// ---------------------------------------------------------------- TMA
// Has TMA bring `bytes` (a multiple of 16) from global to shared memory, both aligned
// to 16 bytes, and report them to the barrier. By one thread; returns at once.
__device__ inline void cp_async_bulk(void* shared, const void* global, std::uint32_t bytes,
                                     std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(shared)),
      "l"(global), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}

// Has TMA bring `bytes` (a multiple of 16) from shared to global memory, both aligned to 16 bytes.
// The copy joins the open group of the thread that calls this: only that thread can wait for it.
__device__ inline void cp_async_bulk_store(void* global, const void* shared, std::uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
               "r"(shared_address(shared)), "r"(bytes)
               : "memory");
}

// Has TMA bring the box whose first element is (c0, c1, ...) to shared memory and
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
__device__ inline void tensor_load(void* shared, const CUtensorMap* map, int c0, int c1, int c2,
                                   int c3, int c4, std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(shared_address(shared)),
      "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4), "r"(shared_address(barrier))
      : "memory");
}

// The same with a policy that says how L2 is to keep the lines (createpolicy_evict_first).
__device__ inline void tensor_load_cache_hint(void* shared, const CUtensorMap* map, int c0, int c1,
                                              std::uint64_t* barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(shared)),
      "l"(map), "r"(c0), "r"(c1), "r"(shared_address(barrier)), "l"(policy)
      : "memory");
}

// As tensor_load, to every block of the cluster whose bit is set in `mask`: to the same place in
// its shared memory, reported to its barrier at the same place.
__device__ inline void tensor_load_multicast(void* shared, const CUtensorMap* map, int c0, int c1,
                                             std::uint64_t* barrier, std::uint16_t mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(shared)),
      "l"(map), "r"(c0), "r"(c1), "r"(shared_address(barrier)), "h"(mask)
      : "memory");
}
__device__ inline void tensor_load_multicast(void* shared, const CUtensorMap* map, int c0, int c1,
                                             int c2, int c3, std::uint64_t* barrier,
                                             std::uint16_t mask) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(shared_address(shared)),
      "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(shared_address(barrier)), "h"(mask)
      : "memory");
}

// Has TMA write a box from shared memory to the tensor, leaving out what lies outside.
// The copy joins the open group of the thread that calls this: only that thread can wait for it.
__device__ inline void tensor_store(const CUtensorMap* map, const void* shared, int c0, int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
      "r"(c0), "r"(c1), "r"(shared_address(shared))
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
__device__ inline void tensor_store(const CUtensorMap* map, const void* shared, int c0, int c1,
                                    int c2, int c3, int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3, %4, %5}], "
      "[%6];" ::"l"(map),
      "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4), "r"(shared_address(shared))
      : "memory");
}

// Has TMA add `bytes` (a multiple of 16) of floats from shared memory to those in global memory,
// each addition for itself atomic. Joins the open group, like a store. By one thread.
__device__ inline void cp_reduce_async_bulk_add(float* global, const void* shared,
                                                std::uint32_t bytes) {
  asm volatile(
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(global),
      "r"(shared_address(shared)), "r"(bytes)
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

// TMA and wgmma come to shared memory by another way (the "async proxy") than loads and stores.
// Every thread that wrote what they shall read calls this before the barrier that tells them. Where
// threads have only read what TMA shall overwrite, one call is enough: behind the barrier, by the
// thread that asks for the copy.
__device__ inline void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// The same for global memory.
__device__ inline void fence_proxy_async_global() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
#endif

}  // namespace ptx
