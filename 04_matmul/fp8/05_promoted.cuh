// promoted: every 128 values of k, what the tensor core has summed moves to sums in fp32.
//
// A sum of 128 products is short enough for 13 bits. So the accumulators begin anew with every k
// tile, and the threads add them to registers of their own, rounded as fp32 is: the error does not
// grow with k any more. Those registers have to come from somewhere: a warpgroup has 64 x 128
// accumulators and two sets of sums, for the upper and the lower half of its 128 x 128 of C, one
// after the other. While it adds, the other warpgroup multiplies. What is still wrong: one scale
// for a whole matrix; a single large element costs all others their digits.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/fp8/kit/epilogue.cuh"
#include "04_matmul/fp8/kit/fp8_tile.cuh"
#include "04_matmul/fp8/kit/wide_tile.cuh"
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
    fp8_gemm_promoted_kernel(const __grid_constant__ CUtensorMap map_a,
                             const __grid_constant__ CUtensorMap map_b,
                             const __grid_constant__ Result c, Scales scales, int k,
                             TileSchedule pairs) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  __shared__ typename Scales::template Shared<64 * T::kHalves, T::kTileN> tile_scales[2];
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
    // The producer loads its own tile of B, and its half of A's for both blocks.
    ptx::setmaxnreg_dec<T::kProducerRegisters>();
    if (threadIdx.x == 0) {
      for (int i = first_pair; i < pairs.count(); i += clusters) {
        const int2 pair = pairs.at(i);
        const int row = pair.x * T::kTileM, col = (pair.y * kClusterSize + rank) * T::kTileN;
        for (int p = 0; p < k; p += kTileK, state.next()) {
          kit::wait_empty(empty, state);  // in both blocks
          issue_stage<T>(ring + state.stage * T::kStageBytes, &map_a, &map_b, p, row, col, rank,
                         &full[state.stage]);
        }
      }
    }
    __syncwarp();
  } else {
    // The consumers release a stage in both blocks: lane r arrives at the barrier of block r.
    ptx::setmaxnreg_inc<T::kConsumerRegisters>();
    const int first_row = (warpgroup - 1) * 64 * T::kHalves, lane = threadIdx.x % 32;
    unsigned char* const slab = ring + T::kRingBytes + (warpgroup - 1) * kSlabBytes;
    for (int i = first_pair; i < pairs.count(); i += clusters) {
      const int2 pair = pairs.at(i);
      const int row = pair.x * T::kTileM + first_row;
      const int col = (pair.y * kClusterSize + rank) * T::kTileN;
      const typename Scales::Mine mine = scales.load(row, col);
      // region k_loop
      float sums[T::kHalves][T::kTileN / 2] = {};
      for (int p = 0; p < k; p += kTileK, state.next()) {
        const unsigned char* const stage = ring + state.stage * T::kStageBytes;
        kit::wait_full(full, state);
#pragma unroll
        for (int h = 0; h < T::kHalves; ++h) {
          // The products of this half alone, from 0 on.
          float acc[T::kTileN / 2];
          ptx::wgmma_fence();
          issue_k_tile<ElementA>(acc, stage + (first_row + 64 * h) * kRowBytes, stage + T::kBytesA,
                                 true);
          ptx::wgmma_commit_group();
          ptx::wgmma_wait_group<0>();
          ptx::fence_registers(acc);
          // Nobody needs the stage any more; what it held is added while others multiply.
          if (h == T::kHalves - 1 && lane < kClusterSize) {
            ptx::mbarrier_arrive_remote(&empty[state.stage], lane);
          }
#pragma unroll
          for (int j = 0; j < T::kTileN / 2; ++j) sums[h][j] += acc[j];
        }
      }
      // endregion
      // The scales, once for each sum, and C leaves.
      scales.share(tile_scales[warpgroup - 1], mine, warpgroup);
#pragma unroll
      for (int h = 0; h < T::kHalves; ++h) {
        scales.apply(sums[h], tile_scales[warpgroup - 1], 64 * h);
        store_by_tma<1>(sums[h], slab, &c, row + 64 * h, col, warpgroup);
      }
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
void fp8_gemm_promoted(const Product<ElementA>& x, cudaStream_t stream) {
  using T = WideTile<2, 4>;
  kit::require_aligned_to_16(x.a, x.b);
  constexpr auto kKernel = fp8_gemm_promoted_kernel<T, Scales, ElementA>;
  const TileSchedule pairs = pairs_of_tiles<T>(x.m, x.n);
  const int most = clusters_at_once<kKernel>(kClusterSize, T::kThreads, T::kSharedBytes);
  launch_clusters<kKernel>(Start::in_order, std::min(pairs.count(), most), kClusterSize,
                           T::kThreads, T::kSharedBytes, stream,
                           map_of_bytes(x.a, x.m, x.k, T::kTileM / kClusterSize),
                           map_of_bytes(x.b, x.n, x.k, T::kTileN), result(x.c, x.m, x.n),
                           scales_of<Scales>(x), x.k, pairs);
}

}  // namespace matmul::fp8
