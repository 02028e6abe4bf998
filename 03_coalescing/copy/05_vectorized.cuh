// Rung 5, vectorized: 16 bytes per thread, in one load and one store.
//
// A request of a warp now covers 512 bytes: 16 sectors, again all used. The sectors per request
// grow and the requests shrink alike; what matters is the share of used bytes, still 100 %. A
// quarter of the loads and stores, and no loop. float4 wants 16-byte alignment, so other pointers
// take the rung before. This kernel is the yardstick of the chapter: nothing can be faster than a
// copy.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "03_coalescing/copy/04_coalesced.cuh"
#include "common/alignment.hpp"
#include "common/cuda_check.cuh"

__global__ void copy_vectorized_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t vectors = n / 4;
  if (i < vectors) {
    reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i];
  } else if (const std::int64_t tail = 4 * vectors + (i - vectors); tail < n) {
    y[tail] = x[tail];  // the last n % 4 floats
  }
}

// y[i] = x[i] for all i < n. Device pointers; fast if both are aligned to 16 bytes.
inline void copy_vectorized(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  if (!common::is_aligned_to_16(x) || !common::is_aligned_to_16(y)) {
    copy_coalesced(x, y, n, stream);
    return;
  }
  const int block = 256;
  const std::int64_t threads = n / 4 + n % 4;
  const std::int64_t grid = std::max<std::int64_t>(1, (threads + block - 1) / block);
  copy_vectorized_kernel<<<grid, block, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}
