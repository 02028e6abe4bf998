// Exercise 04/repair_scales: a product in fp8 with scales of blocks, and five mistakes.
#pragma once

#include <cuda_fp8.h>
#include <cuda_runtime.h>

constexpr int kShare = 128;  // values of k, and rows of B, that share a scale
constexpr int kTile = 16;    // of C, by a block of threads

// C = A B^T, m x n. A is m x k and B is n x k, both E4M3, and each element stands for itself times
// its scale. With k_blocks = ceil(k / 128): scales_a is m x k_blocks, a scale for 128 values of k
// of a row of A; scales_b is ceil(n / 128) x k_blocks, a scale for 128 values of k of 128 rows of
// B. All are row-major, in device memory.
__global__ void multiply_kernel(const __nv_fp8_e4m3* a, const __nv_fp8_e4m3* b,
                                const float* scales_a, const float* scales_b, float* c, int m,
                                int n, int k) {
  const int row = blockIdx.y * kTile + threadIdx.y, col = blockIdx.x * kTile + threadIdx.x;
  if (row >= m || col >= n) return;
  const int k_blocks = (k + kShare - 1) / kShare;
  float sum = 0, part = 0;  // part: the products of one block of k, before they are scaled
  for (int p = 0; p < k; ++p) {
    part += static_cast<float>(a[row * k + p]) * static_cast<float>(b[col * k + p]);
    //@ task 1: something is wrong with the end of a block
    //@ hint: which products never reach the sum if k is 200?
    //@ hint: the last block of k may be shorter: it ends with k
    //@ instead: if ((p + 1) % kShare != 0) continue;
    //@ begin
    if ((p + 1) % kShare != 0 && p + 1 < k) continue;
    //@ end
    const int block = p / kShare;
    //@ task 2: something is wrong with which scales are taken
    //@ hint: scales_a has a row of k_blocks scales for each row of A: where is that of this block?
    //@ hint: scales_b has such a row for 128 columns of C: which of its rows is that of `col`?
    //@ hint: scales_a[row * k_blocks + block], and in scales_b the row col / kShare
    //@ instead: const float scale = scales_a[row * k_blocks] * scales_b[block];
    //@ begin
    const float scale =
        scales_a[row * k_blocks + block] * scales_b[col / kShare * k_blocks + block];
    //@ end
    //@ task 3: something is wrong with what is scaled
    //@ hint: write down what happens to the first block's products at the end of the second block
    //@ hint: a scale belongs to the products of its block alone, and the next block begins at 0
    //@ instead: sum = (sum + part) * scale;
    //@ begin
    sum += part * scale;
    part = 0;
    //@ end
  }
  c[row * n + col] = sum;
}

inline void multiply(const __nv_fp8_e4m3* a, const __nv_fp8_e4m3* b, const float* scales_a,
                     const float* scales_b, float* c, int m, int n, int k) {
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  multiply_kernel<<<grid, dim3(kTile, kTile)>>>(a, b, scales_a, scales_b, c, m, n, k);
}
