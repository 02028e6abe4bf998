// by_shape: tiles for few rows of A, for few tiles of C, and for waves that should be full.
//
// Of wgmma's operands one has 64 rows, the other any multiple of 8. Where A has few rows, B's are
// the 64, so that few products are wasted and each weight comes once. Several warpgroups take the k
// tiles of a tile in turn, blocks of a cluster share what is fitted, and where tiles are few, each
// sum is cut into parts of k: they meet in memory, in fp32, and a second kernel adds them up. Every
// 128 values of k are promoted, as before. What is still wrong: one tile a block, whose beginning
// and end nothing hides but the other blocks of its SM.
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
#include "04_matmul/fp8/kit/shape_plan.cuh"
#include "04_matmul/fp8/kit/shaped_tile.cuh"
#include "04_matmul/fp8/product.cuh"
#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/scaling.cuh"
#include "04_matmul/kit/scheduler.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/cluster.cuh"
#include "common/kit/ptx/grid.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/prefetch.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::fp8 {

// Cluster i computes a part of one tile: first come the first parts of all tiles.
template <class T, class Scales, class ElementA>
__global__ void __launch_bounds__(T::kThreads, T::kBlocks)
    fp8_gemm_by_shape_kernel(const __grid_constant__ CUtensorMap map_rigid,
                             const __grid_constant__ CUtensorMap map_fitted,
                             const __grid_constant__ CUtensorMap map_scales, ShapedResult c,
                             Scales scales, int k, TileSchedule tiles) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr bool kIsB = T::kRigid == Rigid::b;  // whose rows are rigid
  constexpr bool kOfBlocks = Scales::kScaling == Scaling::blocks;
  constexpr bool kOfRows = Scales::kScaling == Scaling::rows;
  constexpr int kScaleRow = !kOfBlocks ? 1 : T::kTileM < 32 ? 32 : T::kTileM;  // TMA's alignment
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  __shared__ alignas(128) float scales_a[T::kStages][kScaleRow];
  __shared__ float of_rows[kOfRows ? T::kTileM : 1], of_cols[kOfRows ? T::kTileN : 1];
  const int missing = T::rows_missing(c.m);
  for (int s = 0; s < T::kStages; ++s) {
    clear_rows(ring + s * T::kStageBytes + (kIsB ? T::kBytesRigid : 0), T::kTileM - missing,
               T::kTileM);
  }
  ptx::fence_proxy_async();
  if (threadIdx.x == 0) {
    kit::init_stages(full, empty, 4 * T::kGroups * T::kCluster);
    ptx::fence_mbarrier_init();
    ptx::prefetch_tensormap(&map_rigid);
    ptx::prefetch_tensormap(&map_fitted);
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();

  // Which tile of C, and which part of k.
  const int rank = T::kCluster == 1 ? 0 : static_cast<int>(ptx::cluster_rank());
  const int cluster = static_cast<int>(blockIdx.x) / T::kCluster;
  const int2 tile = tiles.at(cluster % tiles.count());
  const int part = cluster / tiles.count();
  const int side = kIsB ? T::kCluster : 1;  // tiles of the cluster side by side
  const int2 own = make_int2((kIsB ? tile.x : tile.x * T::kCluster + rank) * T::kTileM,
                             (tile.y * side + (kIsB ? rank : 0)) * T::kTileN);
  // Where it would stick out it begins earlier. With scales of blocks it begins at a multiple of 4
  // rows, as TMA wants A's scales, and may stick out of B, of which 64 columns have one scale.
  const int row = row_inside(own.x, T::kTileM, kOfBlocks ? (c.m + 3) / 4 * 4 : c.m);
  const int col = kOfBlocks ? own.y : col_inside(own.y, T::kTileN, c.n);
  const int rigid = kIsB ? col : row, fitted = kIsB ? row : col;
  const std::int64_t k_tiles = (k + kTileK - 1) / kTileK;
  const int begin = static_cast<int>(k_tiles * part / c.count);
  const int end = static_cast<int>(k_tiles * (part + 1) / c.count);

  const int warpgroup = threadIdx.x / 128, lane = threadIdx.x % 32;
  if (warpgroup == T::kConsumers) {
    ptx::setmaxnreg_dec<T::kProducerRegisters>();
    // The producer: its own rows of the rigid side, and its share of the others for all blocks of
    // the cluster. Where B is rigid, most often it is read once: it shall leave the L2 cache first.
    if (threadIdx.x % 128 == 0) {
      constexpr int kShare = T::kFitted / T::kCluster;
      const std::uint64_t policy = ptx::createpolicy_evict_first();
      kit::PipelineState<T::kStages> state;
      for (int t = begin; t < end; ++t, state.next()) {
        unsigned char* const stage = ring + state.stage * T::kStageBytes;
        std::uint64_t* const arrived = &full[state.stage];
        kit::wait_empty(empty, state);
        if constexpr (kOfBlocks) ptx::fence_proxy_async();  // threads have read the scales
        ptx::mbarrier_arrive_expect_tx(
            arrived, T::kStageBytes - missing * kRowBytes + (kOfBlocks ? 4 * T::kTileM : 0));
        if constexpr (kIsB) {
          ptx::tensor_load_cache_hint(stage, &map_rigid, t * kTileK, rigid, arrived, policy);
        } else {
          ptx::tensor_load(stage, &map_rigid, t * kTileK, rigid, arrived);
        }
        if constexpr (T::kCluster == 1) {
          ptx::tensor_load(stage + T::kBytesRigid, &map_fitted, t * kTileK, fitted, arrived);
        } else {
          ptx::tensor_load_multicast(stage + T::kBytesRigid + rank * kShare * kRowBytes,
                                     &map_fitted, t * kTileK, fitted + rank * kShare, arrived,
                                     (1 << T::kCluster) - 1);
        }
        if constexpr (kOfBlocks) {
          ptx::tensor_load(scales_a[state.stage], &map_scales, row, t, arrived);
        }
      }
    }
    __syncwarp();
    if constexpr (T::kCluster > 1) {
      ptx::cluster_arrive();  // a block may not end while another still writes to its memory
      ptx::cluster_wait();
    }
  } else {
    ptx::setmaxnreg_inc<T::kConsumerRegisters>();
    const int group = warpgroup / T::kWorkers, worker = warpgroup % T::kWorkers;
    // Scales that are the same along k: on their way while others multiply.
    float of_all = 1;
    if constexpr (Scales::kScaling == Scaling::tensor) of_all = *scales.a * *scales.b;
    if constexpr (kOfRows) {
      for (int i = threadIdx.x; i < T::kTileM; i += 128 * T::kConsumers) {
        of_rows[i] = scales.a[min(row + i, c.m - 1)];
      }
      for (int i = threadIdx.x; i < T::kTileN; i += 128 * T::kConsumers) {
        of_cols[i] = scales.b[min(col + i, c.n - 1)];
      }
    }

    // B's scales of blocks, of each piece of this warpgroup's columns; loaded a k tile ahead.
    float next_b[T::kPieces] = {};
    const auto load_next = [&](int t) {
#pragma unroll
      for (int i = 0; i < T::kPieces; ++i) {
        if constexpr (kOfBlocks) {
          const int x = min(col + (kIsB ? 64 * group : T::kPieceCols * i), c.n - 1);
          next_b[i] = scales.b[x / kScaleBlock * scales.layout.pitch_b() + min(t, end - 1)];
        }
      }
    };
    load_next(begin + worker);
    // A warp is done with a stage, in all blocks that write to it.
    const auto release = [&](std::uint64_t* barrier) {
      if constexpr (T::kCluster == 1) {
        kit::release(barrier);
      } else if (lane < T::kCluster) {
        ptx::mbarrier_arrive_remote(barrier, lane);
      }
    };
    // region k_loop
    float sums[T::kFitted / 2] = {};
    kit::PipelineState<T::kStages> state;
    int stage = worker, t = begin + worker;  // of the next sums to add up, and their k tile
    state.stage = worker;
    // Some k tiles. Where there are registers for two sets of accumulators, one is added up while
    // the products of the other run.
    const auto multiply = [&](auto count) {
      constexpr int kTiles = decltype(count)::value, kSets = kTiles > 1 ? 2 : 1;
      float acc[kSets][T::kFitted / 2];
#pragma unroll
      for (int step = 0; step < kTiles + kSets - 1; ++step) {
        if (step < kTiles) {
          const unsigned char* const from = ring + state.stage * T::kStageBytes;
          kit::wait_full(full, state);
          ptx::wgmma_fence();
          issue_k_tile<std::conditional_t<kIsB, __nv_fp8_e4m3, ElementA>,
                       std::conditional_t<kIsB, ElementA, __nv_fp8_e4m3>>(
              acc[step % kSets], from + group * kSlabBytes, from + T::kBytesRigid, true);
          ptx::wgmma_commit_group();
          state.stage += T::kWorkers;
          if (state.stage >= T::kStages) state.stage -= T::kStages, state.phase ^= 1;
        }
        if (step < kSets - 1) continue;
        if (kSets == 2 && step < kTiles) ptx::wgmma_wait_group<1>();
        if (kSets == 1 || step == kTiles) ptx::wgmma_wait_group<0>();
        float(&done)[T::kFitted / 2] = acc[(step + 1) % kSets];
        ptx::fence_registers(done);
        float scale[T::kScales];
        if constexpr (kOfBlocks) {
          load_scales<T>(scale, scales_a[stage], next_b);
          t += T::kWorkers;
          load_next(t);
          __syncwarp();  // all lanes have read their scales
        }
        release(&empty[stage]);
        stage = stage + T::kWorkers < T::kStages ? stage + T::kWorkers : worker;
#pragma unroll
        for (int i = 0; i < T::kFitted / 2; ++i) {
          sums[i] = kOfBlocks ? fmaf(scale[T::scale_of(i)], done[i], sums[i]) : sums[i] + done[i];
        }
      }
    };
    // Several in a pass of the loop, which waits for its products at the end: as two_accumulators.
    int left = (end - t + T::kWorkers - 1) / T::kWorkers;
    if constexpr (T::kHasTwoSets) {
      for (; left >= 4; left -= 4) multiply(std::integral_constant<int, 4>());
    }
    for (; left > 0; --left) multiply(std::integral_constant<int, 1>());
    // endregion
    // All are done with the ring, here and in the cluster: the sums take its place.
    if constexpr (T::kCluster > 1) {
      ptx::cluster_arrive();
      ptx::cluster_wait();
    }
    const auto scale_of = [&](int y, int x) {
      if constexpr (kOfRows) return of_rows[y] * of_cols[x];
      return of_all;
    };
    store_shaped_tile<T>(sums, reinterpret_cast<float*>(ring), c, part, row, col, own, scale_of);
  }
#else
  (void)map_rigid, (void)map_fitted, (void)map_scales, (void)c, (void)scales, (void)k;
  (void)tiles;
#endif
}

// C = the sum of all parts, part 0 first: in another order it might round otherwise. Eight columns
// per thread.
constexpr int kAddThreads = 128;
static __global__ void __launch_bounds__(kAddThreads) fp8_gemm_add_parts_kernel(ShapedResult c) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
  const std::int64_t i = std::int64_t{blockIdx.x} * kAddThreads + threadIdx.x;
  if (i >= c.floats() / 8) return;
  float total[8] = {};
#pragma unroll 4
  for (int part = 0; part < c.count; ++part) {
    add_eight(total, c.parts + part * c.floats() + 8 * i);
  }
  const int eights = c.pitch / 8;
  store_eight_sums(c, static_cast<int>(i / eights), static_cast<int>(i % eights) * 8, total);
#else
  (void)c;
#endif
}

// C = A B' in tiles of T, and sums in `count` parts.
template <class T, class Scales, class ElementA>
void launch_by_shape(const Product<ElementA>& x, int count, float* parts, cudaStream_t stream) {
  constexpr bool kIsB = T::kRigid == Rigid::b;
  constexpr auto kKernel = fp8_gemm_by_shape_kernel<T, Scales, ElementA>;
  static_cast<void>(clusters_at_once<kKernel>(T::kCluster, T::kThreads, T::kSharedBytes));
  const TileSchedule tiles = grouped_schedule(x.m, x.n, T::kTileM * (kIsB ? 1 : T::kCluster),
                                              T::kTileN * (kIsB ? T::kCluster : 1));
  const ShapedResult c = {x.c, kit::has_vector_rows(x.c, x.n), parts, count, x.m,
                          x.n, kit::divide_up(x.n, 8) * 8};
  CUtensorMap map_scales = {};
  if constexpr (Scales::kScaling == Scaling::blocks) {
    map_scales = map_of_scales(x.scales_a, {Scaling::blocks, x.m, x.n, x.k}, T::kTileM);
  }
  const auto map_a = map_of_bytes(x.a, x.m, x.k, T::kBoxA - T::rows_missing(x.m));
  const auto map_b = map_of_bytes(x.b, x.n, x.k, kIsB ? T::kRows : T::kFitted / T::kCluster);
  launch_clusters<kKernel>(Start::programmatic, tiles.count() * count, T::kCluster, T::kThreads,
                           T::kSharedBytes, stream, kIsB ? map_b : map_a, kIsB ? map_a : map_b,
                           map_scales, c, scales_of<Scales>(x), x.k, tiles);
  if (count == 1) return;
  launch_clusters<fp8_gemm_add_parts_kernel>(Start::programmatic,
                                             kit::divide_up(c.floats() / 8, kAddThreads), 1,
                                             kAddThreads, 0, stream, c);
}

// C = A B' as planned. parts: bytes_of_parts(), aligned to 16 and this launch's until it has ended.
template <class Scales, class ElementA>
void multiply_as_planned(const Product<ElementA>& x, const ShapePlan& plan, float* parts,
                         cudaStream_t stream) {
  kit::require_aligned_to_16(x.a, x.b);
  if (Scales::kScaling == Scaling::blocks) kit::require_aligned_to_16(x.scales_a);
  int number = 0;
  each_shaped_tile([&](auto tile, double) {
    if (number++ != plan.tile) return;
    launch_by_shape<decltype(tile), Scales>(x, plan.parts, parts, stream);
  });
}

// C = A B'; Scales: TensorScales, RowScales or BlockScales. Device pointers; sizes up to 2e9.
// memory(bytes): aligned to 16, and this launch's until it has ended.
template <class Scales, class ElementA, class Memory>
void fp8_gemm_by_shape(const Product<ElementA>& x, Memory memory, cudaStream_t stream) {
  const ShapePlan plan =
      plan_by_shape(Scales::kScaling, x.m, x.n, x.k, kit::multiprocessor_count());
  multiply_as_planned<Scales>(x, plan, memory(bytes_of_parts(plan, x.m, x.n)), stream);
}

}  // namespace matmul::fp8
