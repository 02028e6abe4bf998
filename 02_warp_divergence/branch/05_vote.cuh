// vote: the lanes of a warp ask each other before they start.
//
// __any_sync tells every lane whether at least one of them has an expensive element. If not, the
// warp goes without the expensive path; if so, all lanes walk it together, as before. Both ways the
// warp stays whole, which matters when the expensive path holds a shuffle, a __syncwarp or a
// matrix instruction, and needs all lanes. It is no faster than `divergent`. What is still wrong:
// one lane decides for 32.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "02_warp_divergence/branch/kit/paths.cuh"
#include "common/kit/check.cuh"

namespace branch {

// The block is a multiple of 32 threads, and those past n stay: all lanes of the mask vote.
__global__ void branch_vote_kernel(const float* x, float* y, std::int64_t n) {
  constexpr unsigned kAllLanes = 0xFFFFFFFF;  // a bit for each lane that takes part
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const bool inside = i < n;
  const float value = inside ? x[i] : 0.0f;
  float result = cheap_path(value);
  if (__any_sync(kAllLanes, is_expensive(value))) {
    const float expensive = expensive_path(value);
    result = is_expensive(value) ? expensive : result;
  }
  if (inside) y[i] = result;
}

// y[i] = x[i] < 0 ? expensive_path(x[i]) : cheap_path(x[i]) for all i < n, n > 0. Device pointers.
inline void branch_vote(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  const int block = 256;
  static_assert(block % 32 == 0, "whole warps only");
  const std::int64_t grid = (n + block - 1) / block;
  branch_vote_kernel<<<grid, block, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace branch
