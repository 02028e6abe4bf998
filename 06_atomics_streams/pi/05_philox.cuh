// philox: the generator of the CPU rungs, thirty lines, with no state at all.
//
// Pair i comes from counter i, so a thread needs its index and nothing else: nothing to initialise,
// nothing to keep, and any grid gives the same answer, the CPU's, to the last hit. That is worth
// more than speed: a wrong kernel is found by one comparison. What is left: ten rounds of two
// 32 x 32-bit products are the price of good bits. The paper's authors find that seven rounds still
// pass their tests of randomness, and keep three more as a margin.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "06_atomics_streams/kit/add_block_to_cell.cuh"
#include "06_atomics_streams/pi/kit/philox.hpp"
#include "06_atomics_streams/pi/kit/points.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace pi {

__global__ void pi_philox_kernel(std::int64_t n, PhiloxKey key, unsigned long long* hits) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned long long mine = 0;
  for (std::int64_t pair = first; 2 * pair < n; pair += stride) mine += hits_of_pair(pair, n, key);
  atomics_streams::add_block_to_cell(mine, hits);
}

// *hits = how many of n points hit. Device pointer.
inline void pi_philox(std::int64_t n, std::uint64_t seed, unsigned long long* hits,
                      cudaStream_t stream) {
  const int block = 256;
  static const int most = kit::resident_blocks(pi_philox_kernel, block);
  const std::int64_t needed = (n / 2 + block) / block;
  const int grid = static_cast<int>(std::clamp<std::int64_t>(needed, 1, most));
  CUDA_CHECK(cudaMemsetAsync(hits, 0, sizeof *hits, stream));
  pi_philox_kernel<<<grid, block, 0, stream>>>(n, philox_key(seed), hits);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace pi
