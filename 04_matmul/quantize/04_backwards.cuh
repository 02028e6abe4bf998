// backwards: the second launch begins where the first one ended.
//
// One scale for a whole tensor needs the whole tensor: no element can be rounded before the last
// one was looked at, and no chip keeps 134 MB in registers meanwhile, so x must be read twice. But
// the L2 cache, 63 MB on an H200, still has some of what was read last. A first launch of just the
// blocks that the chip holds goes through x from its beginning to its end, all blocks side by side,
// with one atomic a block; the second goes from the end to the beginning, and its stores ask to
// leave the cache first. What is still wrong: the rest of x comes from memory twice.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/quantize/kit/eight.cuh"
#include "04_matmul/quantize/kit/operand.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace matmul::quantize {

constexpr int kTileThreads = 256;
constexpr int kTileLoads = 4;  // of 16 bytes, that a thread has in flight
constexpr int kTile = kTileThreads * kTileLoads;

// The loads of this thread in a tile of x, as one array of `count` pieces of 16 bytes; zeros behind
// its end.
__device__ inline void load_tile(const uint4* x, std::int64_t count, std::int64_t first,
                                 uint4 (&bits)[kTileLoads]) {
#pragma unroll
  for (int i = 0; i < kTileLoads; ++i) {
    const std::int64_t at = first + i * kTileThreads;
    bits[i] = at < count ? x[at] : uint4{0, 0, 0, 0};
  }
}

// *scale is 0 before.
static __global__ void __launch_bounds__(kTileThreads)
    quantize_forwards_kernel(const uint4* x, float* scale, std::int64_t count, std::int64_t tiles) {
  float largest = 0;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    uint4 bits[kTileLoads];
    load_tile(x, count, tile * kTile + threadIdx.x, bits);
#pragma unroll
    for (const uint4& each : bits) largest = fmaxf(largest, largest_of(each));
  }
  largest = largest_of_block(largest);
  if (threadIdx.x == 0) atomic_max(scale, scale_for(largest));
}

// region backwards
static __global__ void __launch_bounds__(kTileThreads)
    quantize_backwards_kernel(const uint4* x, uint2* q, const float* scale, std::int64_t count) {
  const std::int64_t tile = std::int64_t{gridDim.x} - 1 - blockIdx.x;  // the last one first
  const std::int64_t first = tile * kTile + threadIdx.x;
  uint4 bits[kTileLoads];
  load_tile(x, count, first, bits);
  const float inverse = 1 / *scale;
#pragma unroll
  for (int i = 0; i < kTileLoads; ++i) {
    const std::int64_t at = first + i * kTileThreads;
    if (at < count)
      __stcs(q + at, rounded(bits[i], inverse));  // what is written, nobody reads here
  }
}
// endregion

// o.q and the one scale from o.x. Device pointers, aligned to 16 bytes.
inline void quantize_backwards(const Operand& o, cudaStream_t stream) {
  const auto* x = reinterpret_cast<const uint4*>(o.x);
  const std::int64_t count = o.m * o.k / kEight;
  const int tiles = kit::divide_up(count, kTile);
  const int grid = std::min(tiles, kit::resident_blocks(quantize_forwards_kernel, kTileThreads));
  CUDA_CHECK(cudaMemsetAsync(o.scales, 0, sizeof(float), stream));
  quantize_forwards_kernel<<<grid, kTileThreads, 0, stream>>>(x, o.scales, count, tiles);
  CUDA_CHECK(cudaGetLastError());
  quantize_backwards_kernel<<<tiles, kTileThreads, 0, stream>>>(x, reinterpret_cast<uint2*>(o.q),
                                                                o.scales, count);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::quantize
