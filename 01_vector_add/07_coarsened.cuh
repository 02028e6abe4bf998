// Rung 7, coarsened: each thread has several independent loads under way at once.
//
// Memory answers after several hundred cycles. A thread that asks for four pieces before it uses
// the first keeps four times as many bytes in flight, and fewer threads hide the same latency. The
// pieces of one thread lie a block apart, so each request of a warp stays coalesced. The block
// covers one tile and ends: nothing but a tail check is left of the loop. Next: the copies.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "01_vector_add/06_vectorized.cuh"
#include "common/cuda_check.cuh"

template <int kBlock, int kPieces>
__global__ void __launch_bounds__(kBlock)
    vector_add_coarsened_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t vectors = n / 4;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kBlock * kPieces + threadIdx.x;
  const float4* x4 = reinterpret_cast<const float4*>(x);
  float4* y4 = reinterpret_cast<float4*>(y);
  float4 a[kPieces], b[kPieces];  // in registers: every index is known when it is compiled

  if (first - threadIdx.x + kBlock * kPieces <= vectors) {  // the whole tile exists
#pragma unroll
    for (int p = 0; p < kPieces; ++p) {
      a[p] = x4[first + p * kBlock];
      b[p] = y4[first + p * kBlock];
    }
#pragma unroll
    for (int p = 0; p < kPieces; ++p) y4[first + p * kBlock] = add4(a[p], b[p]);
  } else {
    for (std::int64_t i = first; i < vectors; i += kBlock) y4[i] = add4(x4[i], y4[i]);
    const std::int64_t tail = 4 * vectors + threadIdx.x;
    if (tail < n) y[tail] = x[tail] + y[tail];
  }
}

// y[i] = x[i] + y[i] for all i < n. Device pointers; fast if both are aligned to 16 bytes.
inline void vector_add_coarsened(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  if (!is_aligned_to_16(x) || !is_aligned_to_16(y)) {
    vector_add_grid_stride(x, y, n, stream);
    return;
  }
  constexpr int kBlock = 256;
  constexpr int kPieces = 4;
  // n / 4 rounded down: the block after the last full tile takes the rest, were it only the tail.
  const std::int64_t grid = n / (4 * kBlock * kPieces) + 1;
  vector_add_coarsened_kernel<kBlock, kPieces><<<grid, kBlock, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}
