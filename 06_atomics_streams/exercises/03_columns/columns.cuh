// Exercise 06/columns: a histogram in which no two lanes of a warp meet.
#pragma once

#include <cuda_runtime.h>

constexpr int kBins = 64;
constexpr int kBlock = 128;

// bins[v] += number of i < n with x[i] == v. All x[i] are less than 64.
__global__ void histogram_kernel(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned columns[32 * kBins];  // the counter of value v in column c: 32 v + c
  for (int k = threadIdx.x; k < 32 * kBins; k += kBlock) columns[k] = 0;
  __syncthreads();

  for (int i = blockIdx.x * kBlock + threadIdx.x; i < n; i += gridDim.x * kBlock) {
    //@ task 1: count x[i], in a column that no other lane of this warp uses
    //@ hint: bank of a word = its number modulo 32; all counters of a column lie in one bank
    //@ hint: lane l takes column l, so that 32 lanes are in 32 banks, whatever the bytes are
    //@ hint: lanes l of several warps share a column, so it still takes an atomicAdd
    //@ begin
    atomicAdd(&columns[32 * x[i] + threadIdx.x % 32], 1u);
    //@ end
  }
  __syncthreads();

  if (threadIdx.x < kBins) {
    const int v = threadIdx.x;
    unsigned sum = 0;
    //@ task 2: add up the 32 columns of value v, again without bank conflicts
    //@ hint: with columns[32 * v + c], all lanes read column c at the same time: one bank
    //@ hint: let the lanes begin at different columns
    //@ hint: in step k lane l reads column (k + l) % 32
    //@ begin
    for (int k = 0; k < 32; ++k) sum += columns[32 * v + (k + threadIdx.x) % 32];
    //@ end
    if (sum > 0) atomicAdd(&bins[v], sum);
  }
}

inline void histogram(const unsigned char* x, unsigned* bins, int n) {
  const int blocks = (n + kBlock - 1) / kBlock;
  const int grid = blocks < 4 ? blocks : 4;
  histogram_kernel<<<grid, kBlock>>>(x, bins, n);
}
