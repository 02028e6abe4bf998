// shared: the chain lies in shared memory.
//
// The block copies the ring there and turns every pointer into a shared address. Then one thread
// follows it: ld.shared, its result the next address, and so on. Loop counter and branch run while
// the load is in flight. This is the nearest memory there is beside the registers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "03_coalescing/latency/kit/ptx.cuh"
#include "common/kit/check.cuh"

namespace latency {

constexpr int kSharedRingBytes = 16 << 10;

template <int kSlots>
__global__ void latency_shared_kernel(const std::uint64_t* ring, std::uint64_t* result, int hops) {
  __shared__ std::uint64_t slots[kSlots];
  const std::uint64_t base = reinterpret_cast<std::uint64_t>(ring);
  const std::uint32_t shared_base = ptx::cvta_to_shared(slots);
  for (int i = threadIdx.x; i < kSlots; i += blockDim.x) {
    slots[i] = shared_base + static_cast<std::uint32_t>(ring[i] - base);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;

  std::uint32_t place = shared_base;
  const std::uint64_t start = ptx::clock64();
#pragma unroll 16
  for (int hop = 0; hop < hops; ++hop) place = ptx::ld_shared(place);
  const std::uint64_t stop = ptx::clock64();
  result[0] = place - shared_base;
  result[1] = stop - start;
}

// Follows a ring of kSharedRingBytes for `hops` loads; result: end of the chain in bytes, cycles.
// Device pointers.
inline void latency_shared(const std::uint64_t* ring, std::uint64_t* result, int hops,
                           cudaStream_t stream) {
  constexpr int kSlots = kSharedRingBytes / sizeof(std::uint64_t);
  latency_shared_kernel<kSlots><<<1, 256, 0, stream>>>(ring, result, hops);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace latency
