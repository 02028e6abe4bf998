// row_block: a block of threads keeps its row in registers between maximum and rounding.
//
// A row of 8192 elements is 16 KB, 64 bytes for each of 256 threads: four pieces of 16 bytes.
// The block loads it, agrees on its maximum through shared memory, and rounds what it still has: x
// comes from memory once. The number of threads follows from k, up to 1024, for rows of 32,768.
// What does not fit is read again, mostly from the cache, for the block has just read it. While one
// block waits for its slowest warp, others of the SM load. What is still wrong: nothing that the
// memory would notice; one outlier still makes the steps of its whole row coarse.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/quantize/kit/eight.cuh"
#include "04_matmul/quantize/kit/operand.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace matmul::quantize {

constexpr int kMostRowThreads = 1024;
constexpr int kKept = 4;  // pieces of 16 bytes, of a thread

// region row_block
static __global__ void __launch_bounds__(kMostRowThreads) quantize_row_block_kernel(Operand o) {
  const std::int64_t row = blockIdx.x;
  const auto* from = reinterpret_cast<const uint4*>(o.x + row * o.k);
  auto* to = reinterpret_cast<uint2*>(o.q + row * o.k);
  const int count = static_cast<int>(o.k / kEight), stride = blockDim.x;

  // The only read of what fits.
  uint4 kept[kKept];
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    const int at = threadIdx.x + i * stride;
    kept[i] = at < count ? from[at] : uint4{0, 0, 0, 0};
  }

  // The maximum of the row, and with it the scale.
  float largest = 0;
#pragma unroll
  for (const uint4& each : kept) largest = fmaxf(largest, largest_of(each));
  const int rest = threadIdx.x + kKept * stride;
  for (int at = rest; at < count; at += stride) largest = fmaxf(largest, largest_of(from[at]));
  const float scale = scale_for(largest_of_block(largest));
  if (threadIdx.x == 0) o.scales[row] = scale;

  const float inverse = 1 / scale;
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    const int at = threadIdx.x + i * stride;
    if (at < count) to[at] = rounded(kept[i], inverse);
  }
  for (int at = rest; at < count; at += stride) to[at] = rounded(from[at], inverse);
}
// endregion

// o.q and a scale for each row from o.x. Device pointers, aligned to 16 bytes.
inline void quantize_row_block(const Operand& o, cudaStream_t stream) {
  const int warps = std::min(kit::divide_up(o.k, 32 * kKept * kEight), kMostRowThreads / 32);
  quantize_row_block_kernel<<<static_cast<unsigned>(o.m), 32 * warps, 0, stream>>>(o);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::quantize
