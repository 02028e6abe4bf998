// How O leaves from registers to global memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/attention_16bit/kit/accumulators.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/ptx/mma.cuh"

namespace attention {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// Writes a thread's share of O and the log-sum-exp: rows `row` and `row` + 8 of a head. Four lanes
// write 16 bytes of a row together. By whole warps, as store_lse.
template <int kD, class T>
__device__ __forceinline__ void store_rows(const Tensors<T>& t, int head, int row, int n_q,
                                           const float (&o)[kD / 2], const float (&lse)[2]) {
  store_lse(t, head, row, n_q, lse);
  for (int r = 0; r < 2; ++r) {
    if (row + 8 * r >= n_q) continue;
    const std::int64_t at = static_cast<std::int64_t>(head) * n_q + row + 8 * r;
    auto* pairs = reinterpret_cast<std::uint32_t*>(t.o + at * kD) + threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < kD / 2; i += 4) {
      pairs[i] = ptx::pack<T>(o[i + 2 * r], o[i + 2 * r + 1]);
    }
  }
  __syncwarp();
}
#endif

}  // namespace attention
