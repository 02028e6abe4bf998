// coalesced: the lanes of a warp run along a row of C.
//
// Two words changed places: threadIdx.x now chooses the column. A warp reads 32 neighbours of B, 4
// sectors, and one element of A for all its lanes, 1 sector, where it needed 1 and 32. Stores need
// 4 instead of 32. What is still wrong: each multiply-add still waits for two loads, and a block
// reads each of its rows of A and columns of B 32 times over.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/tile_origin.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace matmul::sgemm {

__global__ void sgemm_coalesced_kernel(const float* a, const float* b, float* c, int m, int n,
                                       int k) {
  const int block = static_cast<int>(blockIdx.x), blocks_across = kit::divide_up(n, 32);
  const int row = block / blocks_across * 32 + threadIdx.y;
  const int col = block % blocks_across * 32 + threadIdx.x;
  if (row >= m || col >= n) return;
  float sum = 0;
  for (int p = 0; p < k; ++p) {
    sum += a[static_cast<std::int64_t>(row) * k + p] * b[static_cast<std::int64_t>(p) * n + col];
  }
  c[static_cast<std::int64_t>(row) * n + col] = sum;
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_coalesced(const float* a, const float* b, float* c, int m, int n, int k,
                            cudaStream_t stream) {
  sgemm_coalesced_kernel<<<tile_count<32, 32>(m, n), dim3(32, 32), 0, stream>>>(a, b, c, m, n, k);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::sgemm
