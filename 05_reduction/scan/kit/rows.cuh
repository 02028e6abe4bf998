// A warp's part of a tile in registers, row by row: loaded, scanned, stored.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/kit/all_lanes.cuh"

namespace scan {

constexpr int kRow = 4 * 32;  // floats that a warp loads with one instruction

// The sums over the lanes up to and with this one. All 32 lanes must call it.
__device__ inline float warp_scan(float sum) {
  const int lane = threadIdx.x % 32;
  for (int d = 1; d < 32; d *= 2) {
    const float earlier = __shfl_up_sync(reduction::kAllLanes, sum, d);
    if (lane >= d) sum += earlier;
  }
  return sum;
}

// The same without this lane's own value: what lies before it.
__device__ inline float before_lane(float inclusive) {
  const float before = __shfl_up_sync(reduction::kAllLanes, inclusive, 1);
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
    before += __shfl_sync(reduction::kAllLanes, inclusive, 31);
  }
  return before;
}

}  // namespace scan
