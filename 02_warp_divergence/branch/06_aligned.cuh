// aligned: the block queues its expensive elements, so that the branch falls between warps.
//
// Cheap elements are done at once. The expensive ones go into a queue in shared memory:
// __ballot_sync gives a warp's expensive lanes as 32 bits, and counting bits gives each lane its
// place. Then thread t takes entry t. Of 256 elements about 5 are expensive, so one warp of eight
// walks the expensive path instead of nearly four. What is still wrong: in that warp 5 lanes of 32
// are active, and a thread has one element in flight at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "02_warp_divergence/branch/kit/paths.cuh"
#include "02_warp_divergence/branch/kit/queue.cuh"
#include "common/kit/check.cuh"

namespace branch {

constexpr int kAlignedBlock = 256;

__global__ void __launch_bounds__(kAlignedBlock)
    branch_aligned_kernel(const float* x, float* y, std::int64_t n) {
  static_assert(kAlignedBlock % 32 == 0, "whole warps only");
  __shared__ float queue[kAlignedBlock];
  __shared__ int owner[kAlignedBlock];  // thread that an entry of the queue came from
  __shared__ int end;
  if (threadIdx.x == 0) end = 0;
  __syncthreads();

  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * kAlignedBlock;
  const std::int64_t i = tile + threadIdx.x;
  const float value = i < n ? x[i] : 0.0f;  // cheap, past the end
  const bool expensive = is_expensive(value);
  if (i < n && !expensive) y[i] = cheap_path(value);

  const unsigned expensive_lanes = __ballot_sync(kAllLanes, expensive);
  if (expensive_lanes != 0) {  // the same for the whole warp
    const int place = place_in_queue(expensive_lanes, &end);
    if (expensive) {
      queue[place] = value;
      owner[place] = threadIdx.x;
    }
  }
  __syncthreads();

  const int t = threadIdx.x;
  if (t < end) y[tile + owner[t]] = expensive_path(queue[t]);
}

// y[i] = x[i] < 0 ? expensive_path(x[i]) : cheap_path(x[i]) for all i < n, n > 0. Device pointers.
inline void branch_aligned(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  const std::int64_t grid = (n + kAlignedBlock - 1) / kAlignedBlock;
  branch_aligned_kernel<<<grid, kAlignedBlock, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace branch
