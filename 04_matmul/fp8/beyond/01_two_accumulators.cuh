// two_accumulators: a warpgroup adds up one set of accumulators while the other is multiplied.
//
// In `promoted` and `scale_ring` a warpgroup waits for its products, adds them, and only then asks
// for more: the other warpgroup has to keep the tensor cores busy alone. Here a warpgroup computes
// its 64 x 256 of C in pieces of 64 columns, which need 32 accumulators each, so there is room for
// two sets. The next piece is asked for before the one before is added up. What is still wrong: a
// piece reads the tile of A anew, and power holds the clock down.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "04_matmul/fp8/kit/epilogue.cuh"
#include "04_matmul/fp8/kit/fp8_tile.cuh"
#include "04_matmul/fp8/kit/scale_blocks.cuh"
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

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Adds the products of a piece to its sums; with scales of blocks, times those of the thread's two
// rows and of the piece.
template <bool kBlocks, int kCount>
__device__ inline void promote(float (&sums)[kCount], const float (&products)[kCount],
                               const float (&scale_a)[2], float scale_b) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float scale = scale_a[r] * scale_b;
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      if (j / 2 % 2 != r) continue;
      sums[j] = kBlocks ? fmaf(scale, products[j], sums[j]) : sums[j] + products[j];
    }
  }
}
#endif

template <class T, class Scales, class ElementA>
__global__ void __launch_bounds__(T::kThreads, 1)
    fp8_gemm_two_accumulators_kernel(const __grid_constant__ CUtensorMap map_a,
                                     const __grid_constant__ CUtensorMap map_b,
                                     const __grid_constant__ CUtensorMap map_scales,
                                     const __grid_constant__ Result c, Scales scales, int k,
                                     TileSchedule pairs) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr int kColumns = 64, kPieces = T::kTileN / kColumns;
  // Columns that share a scale of B wherever a tile begins, and how many such parts it has.
  constexpr int kShare = T::kTileN % kScaleBlock == 0 ? kScaleBlock : kColumns;
  constexpr int kPartsOfB = T::kTileN / kShare;
  constexpr bool kBlocks = Scales::kScaling == Scaling::blocks;
  static_assert(kScaleBlock % kColumns == 0, "a piece has one scale of B");
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  __shared__ typename Scales::template Shared<64, T::kTileN> tile_scales[2];
  __shared__ alignas(128) float scales_a[T::kStages][kBlocks ? T::kTileM : 1];
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
          std::uint64_t* const arrived = &full[state.stage];
          kit::wait_empty(empty, state);  // in both blocks
          if constexpr (kBlocks) {
            ptx::fence_proxy_async();  // threads have read the scales that TMA overwrites now
            ptx::mbarrier_arrive_expect_tx(arrived, T::kStageBytes + sizeof scales_a[0]);
            ptx::tensor_load(scales_a[state.stage], &map_scales, row, p / kScaleBlock, arrived);
          } else {
            ptx::mbarrier_arrive_expect_tx(arrived, T::kStageBytes);
          }
          ptx::tensor_load(stage, &map_a, p, row, arrived);
          ptx::tensor_load_multicast(stage + T::kBytesA + rank * kColsB * kRowBytes, &map_b, p, col,
                                     arrived, 3);
        }
      }
    }
    __syncwarp();
  } else {
    // The consumers release a stage in both blocks: lane r arrives at the barrier of block r.
    ptx::setmaxnreg_inc<T::kConsumerRegisters>();
    const int first_row = (warpgroup - 1) * 64, lane = threadIdx.x % 32;
    const int top = first_row + 16 * (threadIdx.x % 128 / 32) + lane / 4;  // this thread's row
    unsigned char* const slab = ring + T::kRingBytes + (warpgroup - 1) * kSlabBytes;
    for (int i = first_pair; i < pairs.count(); i += clusters) {
      const int2 pair = pairs.at(i);
      const int row = (pair.x * kClusterSize + rank) * T::kTileM + first_row;
      const int col = pair.y * T::kTileN;
      const typename Scales::Mine mine = scales.load(row, col);
      // Scales of blocks: of this thread's two rows, and of B, loaded a k tile ahead.
      float scale_a[2] = {}, scale_b[kPartsOfB] = {}, next_b[kPartsOfB] = {};
      const float* from_b = nullptr;
      int offset[kPartsOfB] = {};  // from the first part's scales
      if constexpr (kBlocks) {
        const int pitch = static_cast<int>(scales.layout.pitch_b());
        from_b = scales.b + static_cast<std::int64_t>(col / kScaleBlock) * pitch;
#pragma unroll
        for (int b = 0; b < kPartsOfB; ++b) {
          const int last = static_cast<int>(scales.layout.n) - 1;
          offset[b] = (min(col + b * kShare, last) / kScaleBlock - col / kScaleBlock) * pitch;
          next_b[b] = from_b[offset[b]];
        }
      }

      const auto next_scales = [&](bool is_more) {
        if constexpr (kBlocks) {
          scale_a[0] = scales_a[state.stage][top], scale_a[1] = scales_a[state.stage][top + 8];
          if (is_more) ++from_b;
#pragma unroll
          for (int b = 0; b < kPartsOfB; ++b) {
            scale_b[b] = next_b[b];
            if (is_more) next_b[b] = from_b[offset[b]];
          }
        }
      };

      // region k_loop
      float sums[kPieces][kColumns / 2] = {}, acc[2][kColumns / 2];
      // All pieces of some k tiles. While the products of a piece run, those of the one before are
      // added up.
      const auto multiply = [&](auto tiles, int p) {
        constexpr int kSteps = kPieces * decltype(tiles)::value;
        int before = 0;  // the stage of the k tile before
#pragma unroll
        for (int step = 0; step <= kSteps; ++step) {
          const int piece = step % kPieces;
          if (piece == 0 && step > 0) {
            before = state.stage;
            state.next();
          }
          if (step < kSteps) {
            const unsigned char* const stage = ring + state.stage * T::kStageBytes;
            if (piece == 0) kit::wait_full(full, state);
            ptx::wgmma_fence();
            issue_k_tile<ElementA>(acc[step % 2], stage + first_row * kRowBytes,
                                   stage + T::kBytesA + piece * kColumns * kRowBytes, true);
            ptx::wgmma_commit_group();
          }
          if (step > 0) {
            if (step < kSteps) ptx::wgmma_wait_group<1>();
            if (step == kSteps) ptx::wgmma_wait_group<0>();
            float(&done)[kColumns / 2] = acc[(step - 1) % 2];
            ptx::fence_registers(done);
            if (piece == 0) {
              if constexpr (kBlocks) __syncwarp();  // all lanes have read their scales
              if (lane < kClusterSize) ptx::mbarrier_arrive_remote(&empty[before], lane);
            }
            const int last = (step - 1) % kPieces;
            promote<kBlocks>(sums[last], done, scale_a, scale_b[last * kColumns / kShare]);
          }
          if (kBlocks && piece == 0 && step < kSteps) {
            next_scales(p + (step / kPieces + 1) * kTileK < k);
          }
        }
      };
      // Several k tiles in a pass of the loop, which waits for its products at the end: ptxas does
      // not see which accumulators are in use from pass to pass, and would wait after each wgmma.
      int p = 0;
      for (; p + 3 * kTileK < k; p += 4 * kTileK) multiply(std::integral_constant<int, 4>(), p);
      for (; p < k; p += kTileK) multiply(std::integral_constant<int, 1>(), p);
      // endregion

      // The scales that are the same along k, once for each sum, and C leaves.
      scales.share(tile_scales[warpgroup - 1], mine, warpgroup);
#pragma unroll
      for (int piece = 0; piece < kPieces; ++piece) {
        scales.apply(sums[piece], tile_scales[warpgroup - 1], 0, piece * kColumns);
        store_by_tma<1>(sums[piece], slab, &c, row, col + piece * kColumns, warpgroup);
      }
    }
    if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();  // its stores have arrived
    __syncwarp();
  }

  // A block may not end while the other still writes to its memory.
  ptx::cluster_arrive();
  ptx::cluster_wait();
#else
  (void)map_a, (void)map_b, (void)map_scales, (void)c, (void)scales, (void)k, (void)pairs;
#endif
}

// C = A B'; Scales: TensorScales, RowScales or BlockScales. Device pointers; sizes up to 2e9.
// kTileN: columns of a tile, 192 or 256.
template <class Scales, int kTileN = 256, class ElementA>
void fp8_gemm_two_accumulators(const Product<ElementA>& x, cudaStream_t stream) {
  static_assert(kTileN == 192 || kTileN == 256, "its ring is fitted to these");
  using T = GemmTile<128, kTileN, kTileN == 256 ? 4 : 5>;
  kit::require_aligned_to_16(x.a, x.b);
  constexpr auto kKernel = fp8_gemm_two_accumulators_kernel<T, Scales, ElementA>;
  constexpr int kShared = T::kRingBytes + 2 * kSlabBytes;
  const TileSchedule pairs = grouped_schedule(x.m, x.n, kClusterSize * T::kTileM, T::kTileN);
  const int most = clusters_at_once<kKernel>(kClusterSize, T::kThreads, kShared);
  CUtensorMap map_scales = {};
  if constexpr (Scales::kScaling == Scaling::blocks) {
    kit::require_aligned_to_16(x.scales_a);
    map_scales = map_of_scales(x.scales_a, {Scaling::blocks, x.m, x.n, x.k}, T::kTileM);
  }
  launch_clusters<kKernel>(Start::in_order, std::min(pairs.count(), most), kClusterSize,
                           T::kThreads, kShared, stream, map_of_bytes(x.a, x.m, x.k, T::kTileM),
                           map_of_bytes(x.b, x.n, x.k, T::kTileN / kClusterSize), map_scales,
                           result(x.c, x.m, x.n), scales_of<Scales>(x), x.k, pairs);
}

}  // namespace matmul::fp8
