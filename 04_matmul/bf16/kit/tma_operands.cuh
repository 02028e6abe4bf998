// Tiles of A and B in shared memory, as TMA writes them and the tensor cores read them.
//
// A row of a tile has 128 bytes, 64 elements. Its chunks of 16 bytes are swizzled
// (common/kit/swizzle.cuh), so that nobody meets a bank conflict, and tiles begin at multiples of
// 1024 bytes, eight rows.
// - A, and B as n x k: a row of the tile is a row of the matrix, 64 values of k (K-major).
// - B as k x n: a row of the tile is 64 columns of one value of k (MN-major). 64 such rows make a
//   slab, and the tile has a slab for every 64 columns.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/tma.cuh"
#include "common/kit/tensor_map.cuh"

namespace matmul::bf16 {

constexpr int kTileK = 64;                  // values of k in a tile
constexpr int kRowBytes = 128;              // of a row of a tile
constexpr int kSlabBytes = 64 * kRowBytes;  // of 64 rows

// A matrix as TMA sees it: boxes of box_rows rows and 64 columns. It asks the L2 cache for 128
// bytes at a time, as much as a row of a box has: where rows do not begin at multiples of 256
// bytes, twice as much would fetch some of it in vain.
inline CUtensorMap map_of_rows(const __nv_bfloat16* x, int rows, int cols, int box_rows) {
  const auto width = static_cast<std::uint64_t>(cols), height = static_cast<std::uint64_t>(rows);
  return kit::tensor_map(x, {width, height}, {sizeof *x * width},
                         {64, static_cast<std::uint32_t>(box_rows)},
                         CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
}
// B as n x k in boxes for `cols` columns of the product, as k x n in slabs.
template <bool kTransposedB>
CUtensorMap map_of_b(const __nv_bfloat16* b, int n, int k, int cols) {
  return kTransposedB ? map_of_rows(b, n, k, cols) : map_of_rows(b, k, n, kTileK);
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Issues the load of B's tile: kCols columns of the product from `col` on, 64 values of k from `p`.
template <bool kTransposedB, int kCols>
__device__ inline void issue_b(void* to, const CUtensorMap* map_b, int p, int col,
                               std::uint64_t* barrier) {
  if constexpr (kTransposedB) {
    ptx::tensor_load(to, map_b, p, col, barrier);
  } else {
#pragma unroll
    for (int s = 0; s < kCols / 64; ++s) {
      ptx::tensor_load(static_cast<unsigned char*>(to) + s * kSlabBytes, map_b, col + 64 * s, p,
                       barrier);
    }
  }
}
#endif

}  // namespace matmul::bf16
