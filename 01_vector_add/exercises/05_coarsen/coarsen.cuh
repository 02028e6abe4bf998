// Exercise 01/coarsen: y = x + y, four elements per thread.
#pragma once

#include <cuda_runtime.h>

constexpr int kBlock = 128;
constexpr int kPieces = 4;  // elements of a thread
constexpr int kTile = kBlock * kPieces;

// y[i] = x[i] + y[i] for all i < n. x and y point to device memory. A block for each tile.
__global__ void vector_add_kernel(const float* x, float* y, int n) {
  const int tile = blockIdx.x * kTile;  // the first element of this block

  if (tile + kTile <= n) {
    float a[kPieces], b[kPieces];
    //@ task 1: load all pieces of x and y, and only then add and store them
    //@ hint: two loops over the pieces: the first one loads into a and b, the second one stores
    //@ hint: piece p of a block is kBlock elements long; thread t takes element t of each
    //@ hint: the element is tile + p * kBlock + threadIdx.x
    //@ begin
#pragma unroll
    for (int p = 0; p < kPieces; ++p) {
      a[p] = x[tile + p * kBlock + threadIdx.x];
      b[p] = y[tile + p * kBlock + threadIdx.x];
    }
#pragma unroll
    for (int p = 0; p < kPieces; ++p) y[tile + p * kBlock + threadIdx.x] = a[p] + b[p];
    //@ end
  } else {
    //@ task 2: the last tile, which is not full
    //@ hint: the same elements, one after the other, each with a bounds guard
    //@ hint: for (int i = tile + threadIdx.x; i < n; i += kBlock)
    //@ begin
    for (int i = tile + threadIdx.x; i < n; i += kBlock) y[i] = x[i] + y[i];
    //@ end
  }
}

inline void vector_add(const float* x, float* y, int n) {
  vector_add_kernel<<<(n + kTile - 1) / kTile, kBlock>>>(x, y, n);
}
