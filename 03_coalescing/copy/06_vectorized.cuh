// vectorized: 16 bytes per thread, in one load and one store.
//
// A request of a warp now covers 512 bytes: 16 sectors, again all used. Four times the sectors per
// request, a quarter of the requests; what matters is the share of used bytes, still 100 %. One
// load and one store per thread where the rung before has eight of each. float4 wants 16-byte
// alignment: other pointers are refused. This kernel is the yardstick of the chapter: what moves
// the same bytes and does more is hardly faster than the best copy.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace coalesced_copy {

// By n / 4 + n % 4 threads. Static: it is the yardstick of other ladders, too.
static __global__ void copy_vectorized_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t vectors = n / 4;
  if (i < vectors) {
    reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i];
  } else if (const std::int64_t tail = 4 * vectors + (i - vectors); tail < n) {
    y[tail] = x[tail];  // the last n % 4 floats
  }
}

// y[i] = x[i] for all i < n. Device pointers, both aligned to 16 bytes.
inline void copy_vectorized(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  kit::require_aligned_to_16(x, y);
  const int block = 256;
  const std::int64_t threads = n / 4 + n % 4;
  const std::int64_t grid = std::max<std::int64_t>(1, (threads + block - 1) / block);
  copy_vectorized_kernel<<<grid, block, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace coalesced_copy
