// How all threads of a block bring tiles of a product to shared memory, by cp.async, swizzled.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace matmul {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// A thread's part in copying tiles of kTileRows x kTileCols from a rows x cols matrix, one after
// the other. kVectors: kit::has_vector_rows() holds, and the copies are cp.async; otherwise eight
// elements are loaded one by one, and the thread waits for them.
template <int kTileRows, int kTileCols, int kThreads, bool kVectors>
struct GemmTileCopier {
  static constexpr int kPass = kThreads / (kTileCols / 8);  // rows at a time
  static_assert(kTileRows % kPass == 0 && kPass % 8 == 0, "a thread's rows have the same swizzle");
  static constexpr int kChunks = kTileRows / kPass;
  const __nv_bfloat16* matrix;
  const __nv_bfloat16* from[kChunks];  // a pointer each: none waits for another's copy to start
  int row, col, rows, cols, to;

  // The first tile begins at (first_row, first_col).
  __device__ GemmTileCopier(const __nv_bfloat16* matrix, int first_row, int first_col, int rows,
                            int cols)
      : matrix(matrix), rows(rows), cols(cols) {
    const int y = threadIdx.x / (kTileCols / 8), x = threadIdx.x % (kTileCols / 8) * 8;
    row = first_row + y;
    col = first_col + x;
    to = kit::swizzled<kTileCols>(y, x);
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      from[i] = matrix + static_cast<std::int64_t>(row + i * kPass) * cols + col;
    }
  }

  // Issues the copies of the tile.
  __device__ void issue(__nv_bfloat16* tile) const {
#pragma unroll(kVectors ? kChunks : 1)
    for (int i = 0; i < kChunks; ++i) {
      __nv_bfloat16* chunk = tile + to + i * kPass * kTileCols;
      if constexpr (kVectors) {
        ptx::cp_async_16(chunk, from[i], row + i * kPass < rows && col < cols);
      } else {
        *reinterpret_cast<uint4*>(chunk) =
            eight_or_zero<false>(matrix, row + i * kPass, col, rows, cols);
      }
    }
  }

  // Goes on to the tile that begins `down` rows and `right` columns further on.
  __device__ void advance(int down, int right) {
    row += down;
    col += right;
#pragma unroll
    for (int i = 0; i < kChunks; ++i) from[i] += static_cast<std::int64_t>(down) * cols + right;
  }
};
#endif

}  // namespace matmul
