// How O leaves the rungs for mma.sync: through shared memory, so that it fills whole sectors.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/attention_16bit/kit/accumulators.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace attention {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// Copies kRows rows of a tile, from row `tile_row` on, to row `first` of a head with n rows, whose
// address is `to`; none after the last. By one warp.
template <int kD, int kRows, class T>
__device__ inline void copy_rows(T* to, int first, int n, const uint4* tile, int tile_row) {
  constexpr int kChunks = kD / 8;
#pragma unroll
  for (int i = threadIdx.x % 32; i < kRows * kChunks; i += 32) {
    const int row = i / kChunks;
    if (first + row >= n) break;
    reinterpret_cast<uint4*>(to)[i] =
        tile[kit::swizzled_chunk<kChunks>(tile_row + row, i % kChunks)];
  }
}

// Writes a warp's rows of O and their log-sum-exp: 16 kGroups rows from row `first_row` of a head
// on. On their way they take the room of the tile of Q, from row `tile_row` on, which is the warp's
// own.
template <int kD, int kGroups, class T>
__device__ __forceinline__ void store_staged(const Tensors<T>& t, std::int64_t head, int n_q,
                                             int first_row, uint4* tile, int first_query,
                                             OnlineSoftmax (&rows)[kGroups],
                                             float (&o)[kGroups][kD / 2]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    float factor[2], lse[2];
    rows[g].finish(factor, lse);
    OnlineSoftmax::rescale(o[g], factor);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = first_row + 16 * g + 8 * r + lane / 4;
      if (lane % 4 == 0 && row < n_q) t.lse[head * n_q + row] = lse[r];
      const int tile_row = row - first_query;
#pragma unroll
      for (int c = 0; c < kD / 8; ++c) {
        uint4* chunk = &tile[kit::swizzled_chunk<kD / 8>(tile_row, c)];
        reinterpret_cast<std::uint32_t*>(chunk)[lane % 4] =
            ptx::pack<T>(o[g][4 * c + 2 * r], o[g][4 * c + 2 * r + 1]);
      }
    }
  }
  __syncwarp();
  copy_rows<kD, 16 * kGroups>(t.o + (head * n_q + first_row) * kD, first_row, n_q, tile,
                              first_row - first_query);
}
#endif

}  // namespace attention
