// warp_specialized: a producer that only loads, consumers that only multiply, and a ring of
// stages between them.
//
// The thread that issues copies runs ahead of those who multiply, by up to three k tiles, and
// never meets them at a __syncthreads. Each stage has two barriers: `full` completes when the bytes
// have come, `empty` when all eight warps that multiply have released it. Of both only the parity
// of the phase can be asked for, which flips with every trip around the ring (common/kit/
// pipeline.cuh draws it). What is still wrong: small tiles bring more bytes for the same work.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::bf16 {

template <class T, bool kTransposedB>
__global__ void __launch_bounds__(T::kThreads, 1)
    bf16_gemm_warp_specialized_kernel(const __grid_constant__ CUtensorMap map_a,
                                      const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* c,
                                      int m, int n, int k) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static_assert(T::kTileM == 128, "two warpgroups multiply, 64 rows each");
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  const TileOrigin tile = tile_of_block<T::kTileM, T::kTileN>(n);

  // `full` completes with one arrival and its bytes, `empty` when all consumer warps have arrived.
  if (threadIdx.x == 0) {
    kit::init_stages(full, empty, 8);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  // Warpgroup 0 is the producer: one thread fills a stage as soon as it is empty.
  kit::PipelineState<T::kStages> state;
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    if (threadIdx.x != 0) return;
    for (int p = 0; p < k; p += kTileK, state.next()) {
      unsigned char* const stage = ring + state.stage * T::kStageBytes;
      kit::wait_empty(empty, state);
      ptx::mbarrier_arrive_expect_tx(&full[state.stage], T::kStageBytes);
      ptx::tensor_load(stage, &map_a, p, tile.row, &full[state.stage]);
      issue_b<kTransposedB, T::kTileN>(stage + T::kBytesA, &map_b, p, tile.col, &full[state.stage]);
    }
    return;
  }

  // Warpgroups 1 and 2 are consumers: they multiply a stage as soon as it is full, and release it.
  const int first_row = (warpgroup - 1) * 64;
  float acc[T::kTileN / 2];
  for (int p = 0; p < k; p += kTileK, state.next()) {
    const unsigned char* const stage = ring + state.stage * T::kStageBytes;
    kit::wait_full(full, state);
    ptx::wgmma_fence();
    issue_k_tile<kTransposedB>(acc, stage + first_row * kRowBytes, stage + T::kBytesA, p == 0);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    kit::release(&empty[state.stage]);
  }

  // All products are done: C leaves straight from the registers.
  ptx::fence_registers(acc);
  store_accumulators(acc, c, tile.row + first_row, tile.col, m, n);
#else
  (void)map_a, (void)map_b, (void)c, (void)m, (void)n, (void)k;
#endif
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. Throws Skip if TMA cannot take the matrices.
template <bool kTransposedB>
void bf16_gemm_warp_specialized(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                                int m, int n, int k, cudaStream_t stream) {
  using T = GemmTile<128, 128, 4>;
  require_vector_rows<kTransposedB>(a, b, c, n, k);
  const auto kernel = bf16_gemm_warp_specialized_kernel<T, kTransposedB>;
  kit::allow_shared(kernel, T::kRingBytes);
  kernel<<<tile_count<T::kTileM, T::kTileN>(m, n), T::kThreads, T::kRingBytes, stream>>>(
      map_of_rows(a, m, k, T::kTileM), map_of_b<kTransposedB>(b, n, k, T::kTileN), c, m, n, k);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::bf16
