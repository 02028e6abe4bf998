// l2: loads that pass L1 by.
//
// ld.global.cg looks into L2 at once, and the ring is larger than any L1 besides. L2 is shared by
// all SMs: a request leaves the SM, crosses the chip to the slice that owns the address, and comes
// back. The figure is a mean over near and far slices.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "03_coalescing/latency/kit/ptx.cuh"
#include "common/kit/check.cuh"

namespace latency {

__global__ void latency_l2_kernel(const std::uint64_t* ring, std::uint64_t* result, int lap,
                                  int hops) {
  const std::uint64_t base = reinterpret_cast<std::uint64_t>(ring);
  std::uint64_t place = base;
  for (int hop = 0; hop < lap; ++hop) place = ptx::ld_global_cg(place);

  const std::uint64_t start = ptx::clock64();
#pragma unroll 16
  for (int hop = 0; hop < hops; ++hop) place = ptx::ld_global_cg(place);
  const std::uint64_t stop = ptx::clock64();
  result[0] = place - base;
  result[1] = stop - start;
}

// As latency_l1().
inline void latency_l2(const std::uint64_t* ring, std::uint64_t* result, int lap, int hops,
                       cudaStream_t stream) {
  latency_l2_kernel<<<1, 1, 0, stream>>>(ring, result, lap, hops);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace latency
