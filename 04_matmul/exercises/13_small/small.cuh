// Exercise 04/small: thousands of small products.
#pragma once

#include <cuda_runtime.h>

//@ task 1: the kernel
//@ hint: matrices are one piece of memory: let a block take as many as fit into 256 threads
//@ hint: each thread loads one element of A and one of B into shared memory, in order
//@ hint: thread t of a block: matrix t / (s * s) of the block, element t % (s * s) of it
//@ begin
constexpr int kBlock = 256;

__global__ void multiply_kernel(const float* a, const float* b, float* c, int count, int s) {
  __shared__ float all_a[kBlock], all_b[kBlock];
  const int size = s * s, per_block = kBlock / size;
  const int t = threadIdx.x, matrix = t / size;
  const long long first = static_cast<long long>(blockIdx.x) * per_block;
  const bool inside = matrix < per_block && first + matrix < count;
  const long long i = first * size + t;
  if (inside) all_a[t] = a[i], all_b[t] = b[i];
  __syncthreads();
  if (!inside) return;
  const int row = t % size / s, col = t % s;
  const float *mine_a = all_a + matrix * size, *mine_b = all_b + matrix * size;
  float sum = 0;
  for (int p = 0; p < s; ++p) sum += mine_a[row * s + p] * mine_b[p * s + col];
  c[i] = sum;
}
//@ end

// C[i] = A[i] B[i] for all i < count, at most 65,535: square matrices of s x s, s at most 16, one
// behind the other without gaps, row-major, in device memory.
inline void multiply_all(const float* a, const float* b, float* c, int count, int s) {
  //@ task 2: the launch
  //@ hint: a block of 256 threads takes 256 / (s * s) matrices, rounded down
  //@ begin
  const int per_block = kBlock / (s * s);
  multiply_kernel<<<(count + per_block - 1) / per_block, kBlock>>>(a, b, c, count, s);
  //@ end
}
