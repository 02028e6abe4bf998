// mma_sync: the instruction itself, and fragments whose layout is documented.
//
// wmma hides where a fragment's elements are. PTX tells: after mma.sync a lane holds two neighbours
// of a row of C, so it can round and store them at once, without the detour through shared memory.
// ldmatrix brings four 8 x 8 matrices from shared memory to their lanes with one instruction, and
// transposes those of B on their way, which mma.sync wants by columns. What is still wrong:
// ldmatrix reads rows of 16 bytes that lie 64 or 256 bytes apart, so 4 or all 8 rows of a matrix
// are in the same banks and come one after the other.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/mma_gemm_tile.cuh"
#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/check.cuh"
#include "common/kit/ptx/mma.cuh"

namespace matmul::bf16 {

// Rounds two neighbours and stores them at (row, col), as far as they are inside. kVectors:
// kit::has_vector_rows(c, cols) holds.
template <bool kVectors>
__device__ inline void store_two(__nv_bfloat16* c, int row, int col, int rows, int cols, float left,
                                 float right) {
  if (row >= rows || col >= cols) return;
  __nv_bfloat16* to = c + static_cast<std::int64_t>(row) * cols + col;
  if constexpr (kVectors) {
    *reinterpret_cast<__nv_bfloat162*>(to) = __floats2bfloat162_rn(left, right);
  } else {
    to[0] = __float2bfloat16(left);
    if (col + 1 < cols) to[1] = __float2bfloat16(right);
  }
}

template <class T, bool kVectors>
__global__ void __launch_bounds__(T::kThreads)
    bf16_gemm_mma_sync_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                              int m, int n, int k) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  __shared__ alignas(128) __nv_bfloat16 tile_a[T::kTileM][T::kTileK], tile_b[T::kTileK][T::kTileN];

  // This block's tile of C, and this warp's part of it.
  const TileOrigin tile = tile_of_block<T::kTileM, T::kTileN>(n);
  const int t = threadIdx.x, warp = t / 32, lane = t % 32;
  const int y = warp / T::kWarpsAcross * T::kWarpM, x = warp % T::kWarpsAcross * T::kWarpN;
  float acc[T::kPartsA][2 * T::kPartsB][4] = {};

  for (int p = 0; p < k; p += T::kTileK) {
    // All threads bring one k tile, 16 bytes each at a time; zeros past the edges.
    static_assert(T::kTileA == T::kTileB, "they have as many chunks");
#pragma unroll
    for (int i = 8 * t; i < T::kTileA; i += 8 * T::kThreads) {
      *reinterpret_cast<uint4*>(&tile_a[i / T::kTileK][i % T::kTileK]) =
          eight_or_zero<kVectors>(a, tile.row + i / T::kTileK, p + i % T::kTileK, m, k);
      *reinterpret_cast<uint4*>(&tile_b[i / T::kTileN][i % T::kTileN]) =
          eight_or_zero<kVectors>(b, p + i / T::kTileN, tile.col + i % T::kTileN, k, n);
    }
    __syncthreads();

    // region products
    // 16 values of k at a time: fragments from shared memory, then every A with every B.
#pragma unroll
    for (int q = 0; q < T::kTileK; q += 16) {
      // Lanes 0 to 15 point to the rows of the left two matrices, the others to those of the right.
      std::uint32_t from_a[T::kPartsA][4], from_b[T::kPartsB][4];
#pragma unroll
      for (int r = 0; r < T::kPartsA; ++r) {
        ptx::ldmatrix_x4(from_a[r], &tile_a[y + 16 * r + lane % 16][q + lane / 16 * 8]);
      }
#pragma unroll
      for (int s = 0; s < T::kPartsB; ++s) {
        ptx::ldmatrix_x4_trans(from_b[s], &tile_b[q + lane % 16][x + 16 * s + lane / 16 * 8]);
      }
#pragma unroll
      for (int r = 0; r < T::kPartsA; ++r) {
#pragma unroll
        for (int s = 0; s < 2 * T::kPartsB; ++s) {
          const std::uint32_t* two = &from_b[s / 2][s % 2 * 2];
          ptx::mma_m16n8k16(acc[r][s], from_a[r], two[0], two[1]);
        }
      }
    }
    // endregion
    __syncthreads();  // before the next tile overwrites this one
  }

  // region store
  // A lane has two neighbours of a row, and two more eight rows below: round and store them.
#pragma unroll
  for (int r = 0; r < T::kPartsA; ++r) {
#pragma unroll
    for (int s = 0; s < 2 * T::kPartsB; ++s) {
      const int row = tile.row + y + 16 * r + lane / 4, col = tile.col + x + 8 * s + lane % 4 * 2;
      store_two<kVectors>(c, row, col, m, n, acc[r][s][0], acc[r][s][1]);
      store_two<kVectors>(c, row + 8, col, m, n, acc[r][s][2], acc[r][s][3]);
    }
  }
  // endregion
#else
  (void)a, (void)b, (void)c, (void)m, (void)n, (void)k;
#endif
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void bf16_gemm_mma_sync(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                               int m, int n, int k, cudaStream_t stream) {
  const bool vectors = have_vector_rows<false>(a, b, c, n, k);
  using T = MmaGemmTile<false, 128, 128, 64, 32, 32, 1>;  // 8 warps, 2 by 4
  const auto kernel =
      vectors ? bf16_gemm_mma_sync_kernel<T, true> : bf16_gemm_mma_sync_kernel<T, false>;
  kernel<<<tile_count<T::kTileM, T::kTileN>(m, n), T::kThreads, 0, stream>>>(a, b, c, m, n, k);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::bf16
