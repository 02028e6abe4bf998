// wgmma: Hopper's own products of 8 bits, on the ring of the last rung in bf16.
//
// The ring, the cluster and the order of waits are those of `in_flight`, where each is a rung. A
// row of 128 bytes holds 128 values of k now, and one wgmma takes 32 of them in the time of 16:
// half the instructions, half the bytes, twice the pace. What is still wrong: its sums. The tensor
// core aligns 32 products and the sum so far to the largest of them, and keeps 13 bits behind its
// leading one; the longer the sum, the more of each product falls off (fp8.md shows how much).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/fp8/kit/epilogue.cuh"
#include "04_matmul/fp8/kit/fp8_tile.cuh"
#include "04_matmul/fp8/product.cuh"
#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/scheduler.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/cluster.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::fp8 {

template <class T, class Scales, class ElementA>
__global__ void __launch_bounds__(T::kThreads, 1)
    fp8_gemm_wgmma_kernel(const __grid_constant__ CUtensorMap map_a,
                          const __grid_constant__ CUtensorMap map_b,
                          const __grid_constant__ Result c, Scales scales, int k,
                          TileSchedule pairs) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  __shared__ typename Scales::template Shared<64, T::kTileN> tile_scales[2];
  // `full` completes with one arrival and its bytes, `empty` when all consumer warps have arrived.
  if (threadIdx.x == 0) {
    kit::init_stages(full, empty, 8 * kClusterSize);
    ptx::fence_mbarrier_init();
  }
  ptx::cluster_arrive();  // as __syncthreads, but for both blocks
  ptx::cluster_wait();

  kit::PipelineState<T::kStages> state;  // goes on from tile to tile
  const int rank = static_cast<int>(ptx::cluster_rank());
  const int first_pair = static_cast<int>(blockIdx.x) / kClusterSize;
  const int clusters = static_cast<int>(gridDim.x) / kClusterSize;
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    // The producer loads its own tile of A, and its half of B's for both blocks.
    ptx::setmaxnreg_dec<T::kProducerRegisters>();
    constexpr int kColsB = T::kTileN / kClusterSize;
    if (threadIdx.x == 0) {
      for (int i = first_pair; i < pairs.count(); i += clusters) {
        const int2 pair = pairs.at(i);
        const int row = (pair.x * kClusterSize + rank) * T::kTileM;
        const int col = pair.y * T::kTileN + rank * kColsB;
        for (int p = 0; p < k; p += kTileK, state.next()) {
          unsigned char* const stage = ring + state.stage * T::kStageBytes;
          kit::wait_empty(empty, state);  // in both blocks
          ptx::mbarrier_arrive_expect_tx(&full[state.stage], T::kStageBytes);
          ptx::tensor_load(stage, &map_a, p, row, &full[state.stage]);
          ptx::tensor_load_multicast(stage + T::kBytesA + rank * kColsB * kRowBytes, &map_b, p, col,
                                     &full[state.stage], 3);
        }
      }
    }
    __syncwarp();
  } else {
    // The consumers release a stage in both blocks: lane r arrives at the barrier of block r.
    ptx::setmaxnreg_inc<T::kConsumerRegisters>();
    const int first_row = (warpgroup - 1) * 64, lane = threadIdx.x % 32;
    unsigned char* const slab = ring + T::kRingBytes + (warpgroup - 1) * kSlabBytes;
    for (int i = first_pair; i < pairs.count(); i += clusters) {
      const int2 pair = pairs.at(i);
      const int row = (pair.x * kClusterSize + rank) * T::kTileM + first_row,
                col = pair.y * T::kTileN;
      const typename Scales::Mine mine = scales.load(row, col);
      // region k_loop
      float acc[T::kTileN / 2];
      int before = 0;  // the stage of the k tile before
      for (int p = 0; p < k; p += kTileK, state.next()) {
        const unsigned char* const stage = ring + state.stage * T::kStageBytes;
        kit::wait_full(full, state);
        ptx::wgmma_fence();
        issue_k_tile<ElementA>(acc, stage + first_row * kRowBytes, stage + T::kBytesA, p == 0);
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<1>();  // all but the youngest group are done
        if (p > 0 && lane < kClusterSize) ptx::mbarrier_arrive_remote(&empty[before], lane);
        before = state.stage;
      }
      ptx::wgmma_wait_group<0>();
      if (lane < kClusterSize) ptx::mbarrier_arrive_remote(&empty[before], lane);
      // endregion

      // All products are done: the scales, once for each sum, and C leaves.
      ptx::fence_registers(acc);
      scales.share(tile_scales[warpgroup - 1], mine, warpgroup);
      scales.apply(acc, tile_scales[warpgroup - 1], 0);
      store_by_tma<1>(acc, slab, &c, row, col, warpgroup);
    }
    if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();  // its stores have arrived
    __syncwarp();
  }

  // A block may not end while the other still writes to its memory.
  ptx::cluster_arrive();
  ptx::cluster_wait();
#else
  (void)map_a, (void)map_b, (void)c, (void)scales, (void)k, (void)pairs;
#endif
}

// C = A B'; Scales: TensorScales or RowScales. Device pointers; sizes up to 2e9.
template <class Scales, class ElementA>
void fp8_gemm_wgmma(const Product<ElementA>& x, cudaStream_t stream) {
  using T = GemmTile<128, 256, 4>;
  kit::require_aligned_to_16(x.a, x.b);
  constexpr auto kKernel = fp8_gemm_wgmma_kernel<T, Scales, ElementA>;
  constexpr int kShared = T::kRingBytes + 2 * kSlabBytes;
  const TileSchedule pairs = grouped_schedule(x.m, x.n, kClusterSize * T::kTileM, T::kTileN);
  const int most = clusters_at_once<kKernel>(kClusterSize, T::kThreads, kShared);
  launch_clusters<kKernel>(Start::in_order, std::min(pairs.count(), most), kClusterSize,
                           T::kThreads, kShared, stream, map_of_bytes(x.a, x.m, x.k, T::kTileM),
                           map_of_bytes(x.b, x.n, x.k, T::kTileN / kClusterSize),
                           result(x.c, x.m, x.n), scales_of<Scales>(x), x.k, pairs);
}

}  // namespace matmul::fp8
