// How the sums of C' = B A' leave a warpgroup's accumulators: transposed, a row of B in each row of
// them, and C wants them side by side.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"
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

// C as TMA stores it: 64 rows at a time, and those that are left over of a tile.
struct MapsOfC {
  CUtensorMap whole, rest;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__device__ inline void store_slab(const MapsOfC* maps, const unsigned char* slab, int rows, int row,
                                  int col) {
  matmul::store_slab(rows == 64 ? &maps->whole : &maps->rest, slab, rows, row, col);
}

// As store_by_tma for a transposed tile: rounds the sums of a warpgroup, 64 columns of C by 2
// kCount rows, and stores them at (row, col), 64 rows at a time, in turn through kStaging slabs. C:
// MapsOfC or LooseC.
template <int kStaging = kStagingSlabs, int kCount, class C>
__device__ inline void store_transposed_by_tma(const float (&acc)[kCount], unsigned char* staging,
                                               const C* c, int row, int col, int barrier) {
  constexpr int kTileM = 2 * kCount, kSlabs = kit::divide_up(kTileM, 64);
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const int chunk = 2 * warp + lane / 8 % 2;         // 8 columns, and
  const int row_of_lane = lane / 16 * 8 + lane % 8;  // the row, whose address this lane gives
#pragma unroll
  for (int s = 0; s < kSlabs; ++s) {
    const int rows = min(64, kTileM - 64 * s);
    unsigned char* const slab = staging + s % kStaging * kSlabBytes;
    if (thread == 0) ptx::bulk_wait_group_read<kStaging - 1>();
    ptx::named_barrier_sync(barrier, 128);  // the slab is free

    // 16 rows of C at a time: stmatrix transposes each 8 x 8 matrix.
#pragma unroll
    for (int j = 0; j < rows; j += 16) {
      const int first = min(j, rows - 16);  // of 56 rows, 8 are written twice
      const float* d = &acc[32 * s + first / 2];
      const int y = first + row_of_lane;
      ptx::stmatrix_x4_trans(slab + y * kRowBytes + (chunk ^ (y % 8)) * 16,
                             ptx::pack_bf16(d[0], d[1]), ptx::pack_bf16(d[2], d[3]),
                             ptx::pack_bf16(d[4], d[5]), ptx::pack_bf16(d[6], d[7]));
    }

    // All have written: TMA may read.
    ptx::fence_proxy_async();
    ptx::named_barrier_sync(barrier, 128);  // the slab is complete
    store_slab(c, slab, rows, row + 64 * s, col);
  }
  if (kSlabs % kStaging != 0 && thread == 0) ptx::bulk_wait_group_read<0>();
}
#endif

}  // namespace matmul::bf16
