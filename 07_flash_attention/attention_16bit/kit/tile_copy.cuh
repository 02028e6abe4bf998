// Tiles from global to swizzled shared memory by cp.async.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace attention {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// A thread's part in copying rows of kD elements into a tile: the same chunks of rows kPass apart,
// so that all its addresses are a constant away from the first. Eight rows or more at a time; where
// the threads are too few for that, kPart chunks of each, and then the next ones.
template <int kD, int kThreads>
struct TileCopier {
  static constexpr int kChunks = kD / 8, kPart = kThreads / 8 < kChunks ? kThreads / 8 : kChunks;
  static constexpr int kPass = kThreads / kPart;
  static_assert(kPass % 8 == 0 && kPart % 8 == 0, "a thread's chunks are swizzled alike");
  int row = threadIdx.x / kPart, chunk = threadIdx.x % kPart;
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
#pragma unroll
      for (int c = 0; c < kChunks; c += kPart) {
        const int at = i * kChunks + c;
        ptx::cp_async_16(tile + place + at, source + chunk + at, inside);
      }
    }
  }
};
#endif

}  // namespace attention
