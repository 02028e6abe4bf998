// select: no branch at all. Everybody computes both, then picks one.
//
// Nothing can diverge: all 32 lanes are active in every instruction. It is slower all the same, for
// active is not useful: now every warp walks the expensive path, those included that have no
// expensive element. For short paths this is what the compiler does by itself (predication), and
// rightly; for long ones it is a mistake, made by hand. What is wrong: nobody asks whether a warp
// needs the result.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "02_warp_divergence/branch/kit/paths.cuh"
#include "common/kit/check.cuh"

namespace branch {

__global__ void branch_select_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float value = x[i];
  const float expensive = expensive_path(value);
  const float cheap = cheap_path(value);
  y[i] = is_expensive(value) ? expensive : cheap;
}

// y[i] = x[i] < 0 ? expensive_path(x[i]) : cheap_path(x[i]) for all i < n, n > 0. Device pointers.
inline void branch_select(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  const int block = 256;
  const std::int64_t grid = (n + block - 1) / block;
  branch_select_kernel<<<grid, block, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace branch
