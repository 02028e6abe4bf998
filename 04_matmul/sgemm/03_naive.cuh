// naive: one thread for each element of C.
//
// The loops over rows and columns become threads, the sum over k stays a loop. Every product needs
// two loads, each from global memory. The lanes of a warp run down a column of C, so they read 32
// rows of A, k elements apart: 32 sectors for 32 floats, and the same waste when they store. What
// is still wrong: just that, the direction in which the lanes run.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/tile_origin.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace matmul::sgemm {

__global__ void sgemm_naive_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  const int block = static_cast<int>(blockIdx.x), blocks_across = kit::divide_up(n, 32);
  const int row = block / blocks_across * 32 + threadIdx.x;
  const int col = block % blocks_across * 32 + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = 0;
  for (int p = 0; p < k; ++p) {
    sum += a[static_cast<std::int64_t>(row) * k + p] * b[static_cast<std::int64_t>(p) * n + col];
  }
  c[static_cast<std::int64_t>(row) * n + col] = sum;
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_naive(const float* a, const float* b, float* c, int m, int n, int k,
                        cudaStream_t stream) {
  sgemm_naive_kernel<<<tile_count<32, 32>(m, n), dim3(32, 32), 0, stream>>>(a, b, c, m, n, k);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::sgemm
