// Exercise 06/private: a histogram of bytes, privatized.
#pragma once

#include <cuda_runtime.h>

constexpr int kBins = 256;
constexpr int kBlock = 256;

// bins[v] += number of i < n with bytes[i] == v. Both point to device memory.
__global__ void histogram_kernel(const unsigned char* bytes, unsigned* bins, int n) {
  __shared__ unsigned mine[kBins];
  //@ task 1: empty the block's own bins
  //@ hint: shared memory holds anything at first; thread t takes bin t
  //@ hint: who counts into a bin must know that it is empty: a barrier
  //@ begin
  mine[threadIdx.x] = 0;
  __syncthreads();
  //@ end
  //@ task 2: count this block's bytes there
  //@ hint: a grid-stride loop; several threads may meet the same bin
  //@ hint: atomicAdd(&mine[bytes[i]], 1u)
  //@ begin
  for (int i = blockIdx.x * kBlock + threadIdx.x; i < n; i += gridDim.x * kBlock) {
    atomicAdd(&mine[bytes[i]], 1u);
  }
  //@ end
  //@ task 3: add the block's bins to those of all
  //@ hint: everybody must be done counting; then thread t adds bin t, atomically
  //@ hint: a bin that stayed empty needs no atomic
  //@ begin
  __syncthreads();
  const unsigned count = mine[threadIdx.x];
  if (count > 0) atomicAdd(&bins[threadIdx.x], count);
  //@ end
}

inline void histogram(const unsigned char* bytes, unsigned* bins, int n) {
  const int blocks = (n + kBlock - 1) / kBlock;
  const int grid = blocks < 8 ? blocks : 8;
  histogram_kernel<<<grid, kBlock>>>(bytes, bins, n);
}
