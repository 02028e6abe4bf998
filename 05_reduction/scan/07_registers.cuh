// Rung 7, registers: the tile stays in registers, and shuffles take the place of barriers.
//
// A warp owns a stretch of the tile and loads it row by row, 32 float4 at a time: neighbours read
// neighbours. In each row a lane scans its own four elements, five shuffles scan the sums of the
// lanes, and the row's sum is carried to the next row. Between warps there is one exchange through
// shared memory: one barrier a tile instead of 23, for tiles eight times as large.
// What is still wrong: x is read twice.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/scan/06_reduce_then_scan.cuh"
#include "05_reduction/sum/08_shuffle_down.cuh"
#include "common/alignment.hpp"
#include "common/cuda_check.cuh"

constexpr int kRow = 4 * 32;  // floats that a warp loads with one instruction

// The sums over the lanes up to and with this one. All 32 lanes must call it.
__device__ inline float warp_scan(float sum) {
  const int lane = threadIdx.x % 32;
  for (int d = 1; d < 32; d *= 2) {
    const float earlier = __shfl_up_sync(kAllLanes, sum, d);
    if (lane >= d) sum += earlier;
  }
  return sum;
}

// The same without this lane's own value: what lies before it.
__device__ inline float before_lane(float inclusive) {
  const float before = __shfl_up_sync(kAllLanes, inclusive, 1);
  return threadIdx.x % 32 == 0 ? 0 : before;
}

// Rows of a warp: row r of this lane is at x[first + r * kRow], n elements in all. The fast way
// needs the rows to be complete and x to be aligned to 16 bytes.
template <int kRows>
__device__ void load_rows(float4 (&rows)[kRows], const float* x, std::int64_t first, std::int64_t n,
                          bool fast) {
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t i = first + r * kRow;
    if (fast) {
      rows[r] = *reinterpret_cast<const float4*>(x + i);
    } else {
      rows[r] = make_float4(i < n ? x[i] : 0, i + 1 < n ? x[i + 1] : 0, i + 2 < n ? x[i + 2] : 0,
                            i + 3 < n ? x[i + 3] : 0);
    }
  }
}

template <int kRows>
__device__ void store_rows(const float4 (&rows)[kRows], float before, float* y, std::int64_t first,
                           std::int64_t n, bool fast) {
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t i = first + r * kRow;
    const float4 v =
        make_float4(before + rows[r].x, before + rows[r].y, before + rows[r].z, before + rows[r].w);
    if (fast) {
      *reinterpret_cast<float4*>(y + i) = v;
    } else {
      if (i < n) y[i] = v.x;
      if (i + 1 < n) y[i + 1] = v.y;
      if (i + 2 < n) y[i + 2] = v.z;
      if (i + 3 < n) y[i + 3] = v.w;
    }
  }
}

// Scans the rows of a warp in place and returns their sum, in every lane.
template <int kRows>
__device__ float scan_rows(float4 (&rows)[kRows]) {
  float before = 0;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    float4& v = rows[r];
    v.y += v.x;
    v.z += v.y;
    v.w += v.z;
    const float inclusive = warp_scan(v.w);
    const float add = before + before_lane(inclusive);
    v = make_float4(v.x + add, v.y + add, v.z + add, v.w + add);
    before += __shfl_sync(kAllLanes, inclusive, 31);
  }
  return before;
}

// sums[b] is the sum of the first b + 1 times kTile elements.
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
  const bool aligned = common::is_aligned_to_16(x) && common::is_aligned_to_16(y);
  scan_reduce_kernel<<<small_tiles, kScanTile / 2, 0, stream>>>(x, n, totals);
  CUDA_CHECK(cudaGetLastError());
  scan_blelloch(totals, totals, small_tiles, stream);
  scan_registers_kernel<kBlock, kRows><<<tiles, kBlock, 0, stream>>>(x, y, n, totals, aligned);
  CUDA_CHECK(cudaGetLastError());
}
