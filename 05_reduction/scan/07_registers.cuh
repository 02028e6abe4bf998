// registers: the tile stays in registers, and shuffles take the place of barriers.
//
// A warp owns a stretch of the tile and loads it row by row, 32 float4 at a time: neighbours read
// neighbours. In each row a lane scans its own four elements, five shuffles scan the sums of the
// lanes, and the row's sum is carried to the next row. Between warps there is one exchange through
// shared memory: one barrier per tile instead of 23, for tiles eight times as large.
// What is still wrong: x is read twice.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/scan/kit/blelloch.cuh"
#include "05_reduction/scan/kit/rows.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace scan {

// totals[b] is the sum of tile b.
__global__ void __launch_bounds__(kScanTile / 2)
    scan_registers_sums_kernel(const float* x, std::int64_t n, float* totals) {
  __shared__ float sums[kScanTile / 2];
  const int t = threadIdx.x;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kScanTile + t;
  sums[t] = (i < n ? x[i] : 0) + (i + kScanTile / 2 < n ? x[i + kScanTile / 2] : 0);
  __syncthreads();
  for (int s = kScanTile / 4; s > 0; s /= 2) {
    if (t < s) sums[t] += sums[t + s];
    __syncthreads();
  }
  if (t == 0) totals[blockIdx.x] = sums[0];
}

// sums[b] is the sum of the first b + 1 times kScanTile elements.
template <int kBlock, int kRows>
__global__ void __launch_bounds__(kBlock)
    scan_registers_kernel(const float* x, float* y, std::int64_t n, const float* sums,
                          bool aligned) {
  constexpr int kWarps = kBlock / 32;
  constexpr int kTile = kBlock * 4 * kRows;
  constexpr int kSmallTiles = kTile / kScanTile;
  __shared__ float of_warps[kWarps];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const std::int64_t first = tile + warp * (kRows * kRow) + 4 * lane;
  const bool fast = aligned && tile + kTile <= n;

  float4 rows[kRows];
  load_rows(rows, x, first, n, fast);
  const float of_warp = scan_rows(rows);
  if (lane == 0) of_warps[warp] = of_warp;
  __syncthreads();

  float before = blockIdx.x == 0 ? 0 : sums[blockIdx.x * kSmallTiles - 1];
  for (int w = 0; w < warp; ++w) before += of_warps[w];
  store_rows(rows, before, y, first, n, fast);
}

// y[i] = x[0] + ... + x[i] for all i < n. Device pointers, fast if aligned to 16 bytes; totals: a
// value per kScanTile elements.
inline void scan_registers(const float* x, float* y, std::int64_t n, float* totals,
                           cudaStream_t stream) {
  constexpr int kBlock = 256;
  constexpr int kRows = 8;
  constexpr int kTile = kBlock * 4 * kRows;
  static_assert(kTile % kScanTile == 0, "a tile must be made of whole tiles of the first kernel");
  const std::int64_t small_tiles = (n + kScanTile - 1) / kScanTile;
  const std::int64_t tiles = (n + kTile - 1) / kTile;
  if (tiles == 0) return;
  const bool aligned = kit::is_aligned_to_16(x) && kit::is_aligned_to_16(y);
  scan_registers_sums_kernel<<<small_tiles, kScanTile / 2, 0, stream>>>(x, n, totals);
  CUDA_CHECK(cudaGetLastError());
  scan_totals(totals, small_tiles, stream);
  scan_registers_kernel<kBlock, kRows><<<tiles, kBlock, 0, stream>>>(x, y, n, totals, aligned);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace scan
