// global: no lap before the timed one, so that no line is in any cache.
//
// The ring has many times more lines than the chain visits, and the L2 cache is filled with other
// data before the kernel starts. Every load goes to the memory chips and back, in an otherwise idle
// machine: under load, requests queue and take longer. The ring is kept small enough for the
// address translation to find its pages.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "03_coalescing/latency/kit/ptx.cuh"
#include "common/kit/check.cuh"

namespace latency {

__global__ void latency_global_kernel(const std::uint64_t* ring, std::uint64_t* result, int hops) {
  const std::uint64_t base = reinterpret_cast<std::uint64_t>(ring);
  std::uint64_t place = base;

  const std::uint64_t start = ptx::clock64();
#pragma unroll 16
  for (int hop = 0; hop < hops; ++hop) place = ptx::ld_global_cg(place);
  const std::uint64_t stop = ptx::clock64();
  result[0] = place - base;
  result[1] = stop - start;
}

// Follows a ring of more than `hops` lines; result: end of the chain in bytes, cycles. Device
// pointers. The caller fills the L2 cache with other data first.
inline void latency_global(const std::uint64_t* ring, std::uint64_t* result, int hops,
                           cudaStream_t stream) {
  latency_global_kernel<<<1, 1, 0, stream>>>(ring, result, hops);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace latency
