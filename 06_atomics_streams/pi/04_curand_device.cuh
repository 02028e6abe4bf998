// curand_device: each thread has a generator of its own and uses the numbers on the spot.
//
// cuRAND's device API is a header: a state per thread, initialised with the same seed and a
// sequence number of its own, so that no two threads draw the same numbers. The numbers live and
// die in registers; memory sees one atomic per block. What is still wrong: the state is carried
// along (64 bytes per thread), the answer depends on how many threads there are, and the CPU cannot
// check it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/kit/add_block_to_cell.cuh"
#include "common/kit/check.cuh"

#if __has_include(<curand_kernel.h>)
#include <curand_kernel.h>
#endif

namespace pi {

#if __has_include(<curand_kernel.h>)

// A fixed number of threads: with another one, other points would be thrown.
constexpr int kCurandBlock = 256;
constexpr int kCurandGrid = 1024;

__global__ void pi_curand_device_kernel(std::int64_t n, std::uint64_t seed,
                                        unsigned long long* hits) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  curandStatePhilox4_32_10_t state;
  curand_init(seed, thread, 0, &state);
  unsigned long long mine = 0;
  for (std::int64_t point = 2 * thread; point < n; point += 2 * threads) {
    const float4 r = curand_uniform4(&state);
    mine += r.x * r.x + r.y * r.y <= 1.0f;
    mine += point + 1 < n && r.z * r.z + r.w * r.w <= 1.0f;
  }
  atomics_streams::add_block_to_cell(mine, hits);
}

// *hits = how many of n points hit. Device pointer.
inline void pi_curand_device(std::int64_t n, std::uint64_t seed, unsigned long long* hits,
                             cudaStream_t stream) {
  CUDA_CHECK(cudaMemsetAsync(hits, 0, sizeof *hits, stream));
  pi_curand_device_kernel<<<kCurandGrid, kCurandBlock, 0, stream>>>(n, seed, hits);
  CUDA_CHECK(cudaGetLastError());
}
#endif

}  // namespace pi
