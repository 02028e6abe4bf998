// SPDX-License-Identifier: MIT
// mbarrier: barriers in shared memory that count arrivals and bytes. One function for each PTX
// instruction, under its PTX name (PTX ISA 8.0, "Parallel Synchronization and Communication
// Instructions": mbarrier). They exist in code for sm_90 or newer only.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace ptx {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
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
#endif

}  // namespace ptx
