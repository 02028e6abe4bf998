// l1: the same ring in global memory, small enough for the L1 cache.
//
// L1 and shared memory are the same piece of silicon, split by need. What a cache must do in
// addition is compare tags. A first lap around the ring brings it into L1; the laps after it are
// timed.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "03_coalescing/latency/kit/ptx.cuh"
#include "common/kit/check.cuh"

namespace latency {

__global__ void latency_l1_kernel(const std::uint64_t* ring, std::uint64_t* result, int lap,
                                  int hops) {
  const std::uint64_t base = reinterpret_cast<std::uint64_t>(ring);
  std::uint64_t place = base;
  for (int hop = 0; hop < lap; ++hop) place = ptx::ld_global_ca(place);

  const std::uint64_t start = ptx::clock64();
#pragma unroll 16
  for (int hop = 0; hop < hops; ++hop) place = ptx::ld_global_ca(place);
  const std::uint64_t stop = ptx::clock64();
  result[0] = place - base;
  result[1] = stop - start;
}

// Follows a ring of `lap` lines once around untimed, then for `hops` loads; result: end of the
// chain in bytes, cycles. Device pointers.
inline void latency_l1(const std::uint64_t* ring, std::uint64_t* result, int lap, int hops,
                       cudaStream_t stream) {
  latency_l1_kernel<<<1, 1, 0, stream>>>(ring, result, lap, hops);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace latency
