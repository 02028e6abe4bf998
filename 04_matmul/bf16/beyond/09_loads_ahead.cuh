// loads_ahead: a lane asks for 64 bytes of weights before it uses the first.
//
// Memory answers after some 700 ns. To receive 4.5 TB/s, all SMs together must have asked for
// 4.5e12 x 700e-9 = 3 MB, 24 KB each (Little's law). A warp that asks for 512 bytes at a time needs
// 48 warps per SM for that. With four loads per lane under way, a quarter of the warps is enough.
// What is still wrong: for each load of weights a lane makes eight of A and 64 multiply-adds.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/bf16/kit/row_products.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace matmul::bf16 {

template <int kRowsOfA, bool kVectors>
__global__ void __launch_bounds__(256)
    bf16_gemm_loads_ahead_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                                 int m, int n, int k) {
  constexpr int kAhead = 4;  // loads under way, per lane
  const int lane = threadIdx.x % 32;
  const int j = static_cast<int>(blockIdx.x) * 8 + static_cast<int>(threadIdx.x) / 32;
  const int first = static_cast<int>(blockIdx.y) * kRowsOfA;
  if (j >= n) return;
  float sum[kRowsOfA] = {};
#pragma unroll 1
  for (int p = 8 * lane; p < k; p += kAhead * 256) {
    uint4 weights[kAhead];
#pragma unroll
    for (int q = 0; q < kAhead; ++q) weights[q] = eight_or_zero<kVectors>(b, j, p + 256 * q, n, k);
#pragma unroll
    for (int q = 0; q < kAhead; ++q) {
#pragma unroll
      for (int i = 0; i < kRowsOfA; ++i) {
        add_products(sum[i], eight_or_zero<kVectors>(a, first + i, p + 256 * q, m, k), weights[q]);
      }
    }
  }
  store_sums(sum, c, first, j, m, n);
}

template <int kRowsOfA>
void launch_loads_ahead(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                        int n, int k, cudaStream_t stream) {
  const dim3 blocks(kit::divide_up(n, 8), kit::divide_up(m, kRowsOfA));
  if (kit::has_vector_rows(a, k) && kit::has_vector_rows(b, k)) {
    bf16_gemm_loads_ahead_kernel<kRowsOfA, true><<<blocks, 256, 0, stream>>>(a, b, c, m, n, k);
  } else {
    bf16_gemm_loads_ahead_kernel<kRowsOfA, false><<<blocks, 256, 0, stream>>>(a, b, c, m, n, k);
  }
  CUDA_CHECK(cudaGetLastError());
}

// C = A B'; A is m x k, B is n x k, C is m x n, all row-major. Device pointers; sizes up to 2e9,
// m up to 500,000.
inline void bf16_gemm_loads_ahead(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                                  int m, int n, int k, cudaStream_t stream) {
  if (m == 1) {
    launch_loads_ahead<1>(a, b, c, m, n, k, stream);
  } else {
    launch_loads_ahead<8>(a, b, c, m, n, k, stream);
  }
}

}  // namespace matmul::bf16
