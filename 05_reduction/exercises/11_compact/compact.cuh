// Exercise 05/compact: keep the positive elements, in their order.
#pragma once

#include <cuda_runtime.h>

constexpr int kBlock = 256;

//@ task 1: the kernels; one may count, one scan the counts, one write
//@ hint: where an element goes is the number of kept elements before it: an exclusive scan of 0 and 1
//@ hint: as in reduce_then_scan: count in each block, scan the counts, then place within the block
//@ hint: in a warp __ballot_sync has a bit for each lane; __popc counts the bits of the lanes before
//@ begin
// kept[b] = how many elements of block b are positive.
__global__ void count_kernel(const float* x, int n, int* kept) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  const int count = __syncthreads_count(i < n && x[i] > 0);
  if (threadIdx.x == 0) kept[blockIdx.x] = count;
}

// kept[b] = the sum of those before it; *total = the sum of all. By one warp.
__global__ void scan_kernel(int* kept, int blocks, int* total) {
  const int lane = threadIdx.x;
  int before = 0;
  for (int first = 0; first < blocks; first += 32) {
    const int own = first + lane < blocks ? kept[first + lane] : 0;
    int sum = own;
    for (int d = 1; d < 32; d *= 2) {
      const int earlier = __shfl_up_sync(0xffffffffu, sum, d);
      if (lane >= d) sum += earlier;
    }
    if (first + lane < blocks) kept[first + lane] = before + sum - own;
    before += __shfl_sync(0xffffffffu, sum, 31);
  }
  if (lane == 0) *total = before;
}

// y[where] = x[i] for the positive x[i]; block b begins at first[b].
__global__ void place_kernel(const float* x, int n, const int* first, float* y) {
  __shared__ int of_warps[kBlock / 32];
  const int i = blockIdx.x * kBlock + threadIdx.x, warp = threadIdx.x / 32;
  const float value = i < n ? x[i] : 0.0f;
  const unsigned mine = __ballot_sync(0xffffffffu, value > 0);
  if (threadIdx.x % 32 == 0) of_warps[warp] = __popc(mine);
  __syncthreads();
  if (!(value > 0)) return;
  int where = first[blockIdx.x] + __popc(mine & ((1u << threadIdx.x % 32) - 1));
  for (int w = 0; w < warp; ++w) where += of_warps[w];
  y[where] = value;
}
//@ end

// y = the positive elements of x in their order, *count = how many they are. scratch: room for an
// int for each 256 elements. n > 0.
inline void compact(const float* x, int n, float* y, int* count, int* scratch) {
  //@ task 2: the launches
  //@ hint: kernels in one stream run one after the other: the end of a kernel is where blocks meet
  //@ hint: counts into scratch, scanned in scratch, read from scratch
  //@ hint: the scan has at most n / 256 + 1 counts: one warp is enough, in a loop
  //@ begin
  const int blocks = (n + kBlock - 1) / kBlock;
  count_kernel<<<blocks, kBlock>>>(x, n, scratch);
  scan_kernel<<<1, 32>>>(scratch, blocks, count);
  place_kernel<<<blocks, kBlock>>>(x, n, scratch, y);
  //@ end
}
