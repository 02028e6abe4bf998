// How the sums of C' = B A' leave a warpgroup's accumulators: transposed, a row of B in each row of
// them, and C wants them side by side.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"

namespace matmul::bf16 {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Whether C's rows can be stored 16 bytes at a time.
__device__ inline bool has_vector_rows(const Rows<__nv_bfloat16>& c, int n) {
  return n % 8 == 0 && c.pitch % 8 == 0 && reinterpret_cast<std::uintptr_t>(c.data) % 16 == 0;
}

// Rounds the sums of 64 rows of B and 2 kCount rows of A, and stores `cols` of the 64 at column
// `col` of C, m x n. By a warpgroup, whose named barrier is `barrier`, by way of `room`: 2 kCount
// rows of 128 bytes, from a multiple of 1024 on, which all of the warpgroup have done with.
template <int kCount>
__device__ inline void store_transposed(const float (&acc)[kCount], unsigned char* room,
                                        const Rows<__nv_bfloat16>& c, bool has_vectors, int col,
                                        int cols, int m, int n, int barrier) {
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const int y = i / 4 * 8 + lane % 4 * 2 + i % 2, x = 16 * warp + lane / 4 + i / 2 % 2 * 8;
    reinterpret_cast<__nv_bfloat16*>(room + ptx::swizzled_128B(y, x / 8))[x % 8] =
        __float2bfloat16(acc[i]);
  }
  ptx::named_barrier_sync(barrier, 128);
  for (int i = thread; i < 2 * kCount * 8; i += 128) {
    const int y = i / 8, x = i % 8 * 8;
    if (y >= m || x >= cols) continue;
    const auto eight = *reinterpret_cast<const uint4*>(room + ptx::swizzled_128B(y, i % 8));
    __nv_bfloat16* const row = c.data + y * c.pitch;
    if (has_vectors) {
      store_eight<true>(row, 0, col + x, 1, n, eight);
    } else {
      store_eight<false>(row, 0, col + x, 1, n, eight);
    }
  }
}
#endif

}  // namespace matmul::bf16
