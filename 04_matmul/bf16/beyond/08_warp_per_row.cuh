// warp_per_row: a warp reads a row of B once and multiplies it by eight rows of A, or by one.
//
// With m rows of A there are 2 m operations for each weight of 2 bytes: m per byte. An H200 could
// do 222 for each byte that it reads, so B's bytes decide. They come 16 bytes per lane, once for
// every eight rows of A. Each lane has its own part of each sum; shuffles add the 32 parts. What is
// still wrong: a lane waits for its 16 bytes before it asks for the next.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/bf16/kit/row_products.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace matmul::bf16 {

// kVectors: rows of A and B begin at multiples of 16 bytes. blockIdx.y: which rows of A.
template <int kRowsOfA, bool kVectors>
__global__ void __launch_bounds__(256)
    bf16_gemm_warp_per_row_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                                  int m, int n, int k) {
  const int lane = threadIdx.x % 32;
  const int j = static_cast<int>(blockIdx.x) * 8 + static_cast<int>(threadIdx.x) / 32;
  const int first = static_cast<int>(blockIdx.y) * kRowsOfA;
  if (j >= n) return;
  float sum[kRowsOfA] = {};
#pragma unroll 1
  for (int p = 8 * lane; p < k; p += 256) {
    const uint4 weights = eight_or_zero<kVectors>(b, j, p, n, k);
#pragma unroll
    for (int i = 0; i < kRowsOfA; ++i) {
      add_products(sum[i], eight_or_zero<kVectors>(a, first + i, p, m, k), weights);
    }
  }
  store_sums(sum, c, first, j, m, n);
}

template <int kRowsOfA>
void launch_warp_per_row(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                         int n, int k, cudaStream_t stream) {
  const dim3 blocks(kit::divide_up(n, 8), kit::divide_up(m, kRowsOfA));
  if (kit::has_vector_rows(a, k) && kit::has_vector_rows(b, k)) {
    bf16_gemm_warp_per_row_kernel<kRowsOfA, true><<<blocks, 256, 0, stream>>>(a, b, c, m, n, k);
  } else {
    bf16_gemm_warp_per_row_kernel<kRowsOfA, false><<<blocks, 256, 0, stream>>>(a, b, c, m, n, k);
  }
  CUDA_CHECK(cudaGetLastError());
}

// C = A B'; A is m x k, B is n x k, C is m x n, all row-major. Device pointers; sizes up to 2e9,
// m up to 500,000.
inline void bf16_gemm_warp_per_row(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                                   int m, int n, int k, cudaStream_t stream) {
  if (m == 1) {
    launch_warp_per_row<1>(a, b, c, m, n, k, stream);
  } else {
    launch_warp_per_row<8>(a, b, c, m, n, k, stream);
  }
}

}  // namespace matmul::bf16
