// multistage: a ring of tiles that cp.async fills ahead, and fragments loaded ahead.
//
// As at the end of the fp32 ladder. While a warp multiplies, its next fragments are on their way
// from shared memory into a second set of registers, and stages of tiles from global memory into a
// ring. The tile of a warp is 64 x 64: 4 KB from shared memory feed 32 mma.sync, where it was 3 KB
// for 16. Blocks that run together share their rows and columns in the L2 cache. What is still
// wrong: mma.sync reaches only two thirds of Hopper's tensor cores; the rest takes an instruction
// of four warps.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/gemm_tile_copier.cuh"
#include "04_matmul/kit/grouped_tiles.cuh"
#include "04_matmul/kit/mma_gemm_tile.cuh"
#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"

namespace matmul::bf16 {

template <class T, bool kVectors>
__global__ void __launch_bounds__(T::kThreads, 1)
    bf16_gemm_multistage_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                                int m, int n, int k) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  static_assert(T::kStages >= 2, "one stage in use while another is being filled");
  extern __shared__ __align__(128) uint4 ring_storage[];
  auto* const ring = reinterpret_cast<__nv_bfloat16*>(ring_storage);
  __nv_bfloat16* const last = ring + (T::kStages - 1) * T::kStage;
  const auto after = [=](__nv_bfloat16* stage) { return stage == last ? ring : stage + T::kStage; };

  // This block's tile of C, this warp's part of it, and this thread's part in copying.
  const TileOrigin tile = grouped_tile<T::kTileM, T::kTileN>(m, n);
  const int warp = threadIdx.x / 32;
  const int y = warp / T::kWarpsAcross * T::kWarpM, x = warp % T::kWarpsAcross * T::kWarpN;

  GemmTileCopier<T::kTileM, T::kTileK, T::kThreads, kVectors> copier_a(a, tile.row, 0, m, k);
  GemmTileCopier<T::kRowsB, T::kColsB, T::kThreads, kVectors> copier_b(
      b, T::kTransposedB ? tile.col : 0, T::kTransposedB ? 0 : tile.col, T::kTransposedB ? n : k,
      T::kTransposedB ? k : n);
  const auto issue = [&](__nv_bfloat16* stage) {
    copier_a.issue(stage);
    copier_b.issue(stage + T::kTileA);
  };
  const auto advance = [&] {
    copier_a.advance(0, T::kTileK);
    T::kTransposedB ? copier_b.advance(0, T::kTileK) : copier_b.advance(T::kTileK, 0);
  };

  // All stages but one are filled ahead; a group of copies for each, even if it is empty.
  const int k_tiles = kit::divide_up(k, T::kTileK);
#pragma unroll
  for (int s = 0; s < T::kStages - 1; ++s) {
    if (s < k_tiles) issue(ring + s * T::kStage);
    ptx::cp_async_commit();
    advance();
  }
  ptx::cp_async_wait<T::kStages - 2>();
  __syncthreads();

  // region loop
  // While 16 values of k are multiplied, the fragments of the next 16 are on their way.
  constexpr int kSteps = T::kTileK / 16;
  float acc[T::kPartsA][2 * T::kPartsB][4] = {};
  Fragments<T> fragments[2];
  __nv_bfloat16 *stage = ring, *free = last;  // the stage in use, and the one to fill next
  fragments[0].load(stage, 0, y, x);
  for (int i = 0; i < k_tiles; ++i) {
#pragma unroll
    for (int q = 0; q < kSteps; ++q) {
      if (q == kSteps - 1) {
        ptx::cp_async_wait<T::kStages - 2>();
        __syncthreads();  // the next stage is complete, and this one is free
        stage = after(stage);
      }
      fragments[(q + 1) % 2].load(stage, (q + 1) % kSteps, y, x);
      // A stage that all warps have left is filled again.
      if (q == 0) {
        if (i + T::kStages - 1 < k_tiles) issue(free);
        free = after(free);
        ptx::cp_async_commit();
      }
      if (q == kSteps - 2) advance();  // long after the copies have read their addresses
#pragma unroll
      for (int r = 0; r < T::kPartsA; ++r) {
#pragma unroll
        for (int s = 0; s < 2 * T::kPartsB; ++s) {
          const std::uint32_t* two = &fragments[q % 2].b[s / 2][s % 2 * 2];
          ptx::mma_m16n8k16(acc[r][s], fragments[q % 2].a[r], two[0], two[1]);
        }
      }
    }
  }
  // endregion

  // C leaves by way of the ring.
  ptx::cp_async_wait<0>();
  __syncthreads();  // the ring is free
  store_part<T, kVectors>(acc, ring, c, tile.row + y, tile.col + x, m, n);
#else
  (void)a, (void)b, (void)c, (void)m, (void)n, (void)k;
#endif
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. Stages are deeper where an SM has room for them: fewer barriers.
template <bool kTransposedB>
void bf16_gemm_multistage(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                          int n, int k, cudaStream_t stream) {
  using Deep = MmaGemmTile<kTransposedB, 128, 256, 64, 64, 64, 3>;
  using Shallow = MmaGemmTile<kTransposedB, 128, 256, 64, 64, 32, 4>;
  static_assert(Shallow::kSharedBytes <= 99 * 1024, "every GPU since sm_80 has that much");
  const auto launch = [&](auto tile) {
    using T = decltype(tile);
    const auto kernel = have_vector_rows<T::kTransposedB>(a, b, c, n, k)
                            ? bf16_gemm_multistage_kernel<T, true>
                            : bf16_gemm_multistage_kernel<T, false>;
    kit::allow_shared(kernel, T::kSharedBytes);
    kernel<<<tile_count<T::kTileM, T::kTileN>(m, n), T::kThreads, T::kSharedBytes, stream>>>(
        a, b, c, m, n, k);
    CUDA_CHECK(cudaGetLastError());
  };
  kit::most_shared() >= Deep::kSharedBytes ? launch(Deep()) : launch(Shallow());
}

}  // namespace matmul::bf16
