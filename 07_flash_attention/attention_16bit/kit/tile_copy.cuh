// Tiles from global to swizzled shared memory by cp.async.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace attention {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// A thread's part in copying rows of kD elements into a tile: the same chunk of rows kPass apart,
// so that all its addresses are a constant away from the first.
template <int kD, int kThreads>
struct TileCopier {
  static constexpr int kChunks = kD / 8, kPass = kThreads / kChunks;
  static_assert(kPass % 8 == 0, "a thread's rows are swizzled alike");
  int row = threadIdx.x / kChunks, chunk = threadIdx.x % kChunks;
  int place = kit::swizzled_chunk<kChunks>(row, chunk);

  // Issues the copy of kRows rows from row `first` of a head with n rows; zeros after the last, if
  // they may end there (std::true_type).
  template <int kRows, class T, class MayEnd>
  __device__ void issue(uint4* tile, const T* heads, std::int64_t head, int first, int n,
                        MayEnd) const {
    const auto* source = reinterpret_cast<const uint4*>(heads + (head * n + first + row) * kD);
#pragma unroll
    for (int i = 0; i < kRows; i += kPass) {
      const bool inside = !MayEnd::value || first + row + i < n;
      ptx::cp_async_16(tile + place + i * kChunks, source + chunk + i * kChunks, inside);
    }
  }
};
#endif

}  // namespace attention
