// Exercise 04/split_k: several threads share the sum of one element of C.
#pragma once

#include <cuda_runtime.h>

// Part z of A B: the products of its share of k, into sums[z], an m x n matrix. blockIdx.z is z,
// and gridDim.z the number of parts.
__global__ void multiply_part_kernel(const float* a, const float* b, float* sums, int m, int n,
                                     int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  const int parts = gridDim.z, z = blockIdx.z;
  if (row >= m || col >= n) return;
  //@ task 1: the share of this part: k from `begin` up to, but without, `end`
  //@ hint: a share has k / parts values, rounded up; the last ones may be shorter, or empty
  //@ hint: both begin and end may not go past k
  //@ instead: const int begin = 0, end = 0;
  //@ begin
  const int share = (k + parts - 1) / parts;
  const int begin = min(k, z * share), end = min(k, begin + share);
  //@ end
  float sum = 0;
  for (int p = begin; p < end; ++p) sum += a[row * k + p] * b[p * n + col];
  sums[(z * m + row) * n + col] = sum;
}

// c[i] = sums[0][i] + sums[1][i] + ... for all i < length, the number of elements of C.
__global__ void add_parts_kernel(const float* sums, float* c, int parts, int length) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  //@ task 2: one element of C
  //@ hint: element i of part z is sums[z * length + i]
  //@ begin
  if (i >= length) return;
  float sum = 0;
  for (int z = 0; z < parts; ++z) sum += sums[z * length + i];
  c[i] = sum;
  //@ end
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major, in device memory. sums has room for
// `parts` matrices of the size of C.
inline void multiply(const float* a, const float* b, float* c, float* sums, int m, int n, int k,
                     int parts) {
  const dim3 block(32, 4), grid((n + 31) / 32, (m + 3) / 4, parts);
  multiply_part_kernel<<<grid, block>>>(a, b, sums, m, n, k);
  add_parts_kernel<<<(m * n + 127) / 128, 128>>>(sums, c, parts, m * n);
}
