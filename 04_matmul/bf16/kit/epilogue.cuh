// The way of C out of the accumulators of a warpgroup, straight from its registers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/mma.cuh"

namespace matmul::bf16 {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Rounds the accumulators, 64 rows by 2 kCount columns, and stores them at (row, col): two
// neighbours at a time, as far as they are inside. n is even.
template <int kCount>
__device__ inline void store_accumulators(const float (&acc)[kCount], __nv_bfloat16* c, int row,
                                          int col, int m, int n) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    const int y = row + 16 * warp + lane / 4 + i / 2 % 2 * 8;
    const int x = col + i / 4 * 8 + lane % 4 * 2;
    if (y < m && x < n) {
      *reinterpret_cast<std::uint32_t*>(c + static_cast<std::int64_t>(y) * n + x) =
          ptx::pack_bf16(acc[i], acc[i + 1]);
    }
  }
}
#endif

}  // namespace matmul::bf16
