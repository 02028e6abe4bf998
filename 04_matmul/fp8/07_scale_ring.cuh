// scale_ring: A's scales travel with the tiles they belong to.
//
// A k tile of A's scales is a row of 256 floats, since neighbours in memory are rows of A: one more
// load by TMA, to a place that the stage has for it, and reported to the same mbarrier. When a
// stage is full, its scales are there, too; a thread reads its four from shared memory while the
// tensor cores work, and keeps no addresses. Rows of scales are padded to 16 bytes, as TMA wants
// them. What is still wrong: few tiles leave SMs idle, and what is added in fp32 costs power, which
// is what limits a product in fp8.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/fp8/kit/fp8_tile.cuh"
#include "04_matmul/fp8/kit/scale_blocks.cuh"
#include "04_matmul/fp8/kit/wide_tile.cuh"
#include "04_matmul/fp8/product.cuh"
#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/scaling.cuh"
#include "04_matmul/kit/scheduler.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/cluster.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::fp8 {

template <class T>
__global__ void __launch_bounds__(T::kThreads, 1)
    fp8_gemm_scale_ring_kernel(const __grid_constant__ CUtensorMap map_a,
                               const __grid_constant__ CUtensorMap map_b,
                               const __grid_constant__ CUtensorMap map_scales,
                               const __grid_constant__ Result c, const float* scales_b,
                               ScaleLayout layout, TileSchedule pairs) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  __shared__ alignas(128) float scales_a[T::kStages][T::kTileM];
  const int k = static_cast<int>(layout.k);
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
          ptx::fence_proxy_async();       // threads have read the scales that TMA overwrites now
          issue_stage<T>(ring + state.stage * T::kStageBytes, &map_a, &map_b, p, row, col, rank,
                         &full[state.stage], sizeof scales_a[0]);
          ptx::tensor_load(scales_a[state.stage], &map_scales, row, p / kScaleBlock,
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
      // region k_loop
      const int top = first_row + 16 * (threadIdx.x % 128 / 32) + lane / 4;
      const float* from_b =
          scales_b + min(col, static_cast<int>(layout.n) - 1) / kScaleBlock * layout.pitch_b();
      float next_b = *from_b;
      float sums[T::kHalves][T::kTileN / 2] = {};
      for (int p = 0; p < k; p += kTileK, state.next()) {
        const unsigned char* const stage = ring + state.stage * T::kStageBytes;
        const float scale_b = next_b;
        if (p + kTileK < k) next_b = *++from_b;
        kit::wait_full(full, state);
#pragma unroll
        for (int h = 0; h < T::kHalves; ++h) {
          // The products of this half alone, from 0 on.
          float acc[T::kTileN / 2];
          ptx::wgmma_fence();
          issue_k_tile<__nv_fp8_e4m3>(acc, stage + (first_row + 64 * h) * kRowBytes,
                                      stage + T::kBytesA, true);
          ptx::wgmma_commit_group();
          // While they are computed: the scales of this thread's two rows, times that of B.
          const float scale[2] = {scales_a[state.stage][top + 64 * h] * scale_b,
                                  scales_a[state.stage][top + 64 * h + 8] * scale_b};
          ptx::wgmma_wait_group<0>();
          ptx::fence_registers(acc);
          if (h == T::kHalves - 1) __syncwarp();  // all lanes have read their scales
          if (h == T::kHalves - 1 && lane < kClusterSize) {
            ptx::mbarrier_arrive_remote(&empty[state.stage], lane);
          }
#pragma unroll
          for (int j = 0; j < T::kTileN / 2; ++j) {
            sums[h][j] = fmaf(scale[j / 2 % 2], acc[j], sums[h][j]);
          }
        }
      }
      // endregion
#pragma unroll
      for (int h = 0; h < T::kHalves; ++h) {
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
  (void)map_a, (void)map_b, (void)map_scales, (void)c, (void)scales_b, (void)layout, (void)pairs;
#endif
}

// C = A B' with scales of blocks. Device pointers; sizes up to 2e9.
inline void fp8_gemm_scale_ring(const Product<>& x, cudaStream_t stream) {
  using T = WideTile<2, 4>;
  kit::require_aligned_to_16(x.a, x.b, x.scales_a);
  constexpr auto kKernel = fp8_gemm_scale_ring_kernel<T>;
  const ScaleLayout layout = {Scaling::blocks, x.m, x.n, x.k};
  const TileSchedule pairs = pairs_of_tiles<T>(x.m, x.n);
  const int most = clusters_at_once<kKernel>(kClusterSize, T::kThreads, T::kSharedBytes);
  launch_clusters<kKernel>(
      Start::in_order, std::min(pairs.count(), most), kClusterSize, T::kThreads, T::kSharedBytes,
      stream, map_of_bytes(x.a, x.m, x.k, T::kTileM / kClusterSize),
      map_of_bytes(x.b, x.n, x.k, T::kTileN), map_of_scales(x.scales_a, layout, T::kTileM),
      result(x.c, x.m, x.n), x.scales_b, layout, pairs);
}

}  // namespace matmul::fp8
