// PTX instructions of the latency probe, one function each, under their PTX names (PTX ISA 8.0,
// "Data Movement and Conversion Instructions: ld" and "Special Registers: %clock64").
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace ptx {

// Cycles of this SM since some moment. The "memory" clobber keeps loads on their side of it.
__device__ inline std::uint64_t clock64() {
  std::uint64_t cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
}

// Loads the 64 bits at a global address; .ca: cached on all levels, L1 included.
__device__ inline std::uint64_t ld_global_ca(std::uint64_t address) {
  std::uint64_t value;
  asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

// The same; .cg: cached in L2 only.
__device__ inline std::uint64_t ld_global_cg(std::uint64_t address) {
  std::uint64_t value;
  asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

// Loads the 32 bits at an address within shared memory.
__device__ inline std::uint32_t ld_shared(std::uint32_t address) {
  std::uint32_t value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

// cvta.to.shared: the address of a shared variable as ld.shared wants it, 32 bits.
__device__ inline std::uint32_t cvta_to_shared(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

}  // namespace ptx
