// Exercise 05/warp_scan: the scan of a block, in registers.
#pragma once

#include <cuda_runtime.h>

constexpr int kBlock = 256;
constexpr int kWarps = kBlock / 32;
constexpr unsigned kAllLanes = 0xffffffffu;

// The sum over the lanes up to and with this one. All 32 lanes call it.
__device__ inline float warp_scan(float sum) {
  const int lane = threadIdx.x % 32;
  //@ task 1: five steps, d = 1, 2, 4, 8, 16: add what the lane d places before has
  //@ hint: __shfl_up_sync(kAllLanes, sum, d) is the value of lane - d
  //@ hint: the first d lanes have no such lane: they get their own value back, and must not add it
  //@ hint: all lanes shuffle, then only those with lane >= d add
  //@ begin
  for (int d = 1; d < 32; d *= 2) {
    const float earlier = __shfl_up_sync(kAllLanes, sum, d);
    if (lane >= d) sum += earlier;
  }
  //@ end
  return sum;
}

// y[i] = the sum of the elements of x up to and with x[i], from the beginning of its block of 256.
__global__ void scan_blocks_kernel(const float* x, float* y, int n) {
  __shared__ float of_warps[kWarps];
  const int i = blockIdx.x * kBlock + threadIdx.x, warp = threadIdx.x / 32;
  float sum = warp_scan(i < n ? x[i] : 0.0f);
  //@ task 2: add the sums of the warps before this one
  //@ hint: the last lane of each warp knows the sum of its warp: lane 31 leaves it in of_warps
  //@ hint: after one barrier each thread may read all eight sums
  //@ hint: it adds of_warps[0 .. warp), which are those of the warps before its own
  //@ begin
  if (threadIdx.x % 32 == 31) of_warps[warp] = sum;
  __syncthreads();
  for (int w = 0; w < warp; ++w) sum += of_warps[w];
  //@ end
  if (i < n) y[i] = sum;
}

inline void scan_blocks(const float* x, float* y, int n) {
  scan_blocks_kernel<<<(n + kBlock - 1) / kBlock, kBlock>>>(x, y, n);
}
