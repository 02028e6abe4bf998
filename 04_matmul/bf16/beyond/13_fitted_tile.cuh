// fitted_tile: tiles as high, or as wide, as fills the waves.
//
// 2056 x 2056 elements are 187 tiles of 128 x 192, two waves of 132 SMs; with 176 x 192 they are
// 132, one wave. wgmma has 64 rows, but any multiple of 8 columns. So one side of a tile is rigid,
// of one to three warpgroups, and the other is fitted: the rows of C, transposed as in full_waves,
// or its columns. Two or four blocks may share one side. A model of the cycles takes one of
// 37 tiles. What is still wrong: it takes whole tiles, so less than a wave of them leaves SMs idle.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/bf16/kit/cost_model.cuh"
#include "04_matmul/bf16/kit/fitted_plan.cuh"
#include "04_matmul/bf16/kit/fitted_shape.cuh"
#include "04_matmul/bf16/kit/shaped_tile.cuh"
#include "04_matmul/bf16/kit/transposed_store.cuh"
#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/scheduler.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/cluster.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::bf16 {

// map_fitted, map_rigid: of A and B if the height is fitted, of B and A otherwise.
template <class T, bool kTransposedB>
__global__ void __launch_bounds__(T::kThreads, 1)
    bf16_gemm_fitted_tile_kernel(const __grid_constant__ CUtensorMap map_fitted,
                                 const __grid_constant__ CUtensorMap map_rigid,
                                 const __grid_constant__ EitherC c, int m, int n, int k,
                                 TileSchedule tiles) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // Rows of A run along k, those of B do where it is n x k.
  constexpr bool kFittedAlongK = T::kIsHeight || kTransposedB;
  constexpr bool kRigidAlongK = !T::kIsHeight || kTransposedB;
  using Ring = FittedRing<T, kFittedAlongK>;
  constexpr int kFittedBlocks = T::kFittedBlocks, kRigidBlocks = T::kRigidBlocks;
  constexpr int kStages = Ring::kStages, kRigid = 64 * T::kRigidSlabs, kStep = T::kDepth * kTileK;
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[kStages], empty[kStages];
  start_cluster(full, empty, 4 * T::kWarpgroups * (kFittedBlocks + kRigidBlocks - 1));

  // Clusters take the tiles of C in turns. Calls visit(place on the fitted side, on the rigid one).
  const int rank = static_cast<int>(ptx::cluster_rank());
  const int fitted_rank = rank % kFittedBlocks, rigid_rank = rank / kFittedBlocks;
  const auto each_tile = [&](auto visit) {
    const int clusters = static_cast<int>(gridDim.x) / T::kCluster;
    for (int i = static_cast<int>(blockIdx.x) / T::kCluster; i < tiles.count(); i += clusters) {
      const int2 tile = tiles.at(i);
      int fitted = T::kIsHeight ? tile.x : tile.y, rigid = T::kIsHeight ? tile.y : tile.x;
      fitted = (fitted * kFittedBlocks + fitted_rank) * T::kFitted;
      rigid = (rigid * kRigidBlocks + rigid_rank) * kRigid;
      if constexpr (T::kIsHeight) {
        visit(row_inside(fitted, T::kFitted, m), col_inside(rigid, kRigid, n));
      } else {
        visit(col_inside(fitted, T::kFitted, n), row_inside(rigid, kRigid, m));
      }
    }
  };
  kit::PipelineState<kStages> state;
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    // The producer. What it shares with other blocks they load in turns, box by box and k tile by
    // k tile: those that have the same place on the fitted side, or on the rigid one.
    ptx::setmaxnreg_dec<T::kProducerRegisters>();
    if (threadIdx.x == 0) {
      unsigned same_fitted = 0;
      for (int r = 0; r < kRigidBlocks; ++r) same_fitted |= 1u << (r * kFittedBlocks + fitted_rank);
      const unsigned same_rigid = ((1u << kFittedBlocks) - 1) << (rigid_rank * kFittedBlocks);
      each_tile([&](int fitted, int rigid) {
        for (int p = 0; p < k; p += kStep, state.next()) {
          std::uint64_t* const barrier = &full[state.stage];
          kit::wait_empty(empty, state);
          ptx::mbarrier_arrive_expect_tx(barrier, Ring::kStageBytes);
#pragma unroll
          for (int d = 0; d < T::kDepth; ++d) {
            unsigned char* const to = Ring::tile(ring, state.stage, d);
            const int turn = p / kTileK + d, from = turn * kTileK;
            constexpr int kBoxes = kFittedAlongK ? 1 : T::kFittedSlabs;
#pragma unroll
            for (int s = 0; s < kBoxes; ++s) {
              load_by_turns<kRigidBlocks, kFittedAlongK>(to + s * kSlabBytes, &map_fitted, from,
                                                         fitted + 64 * s, barrier, turn + s,
                                                         rigid_rank, same_fitted);
            }
#pragma unroll
            for (int s = 0; s < T::kRigidSlabs; ++s) {
              load_by_turns<kFittedBlocks, kRigidAlongK>(to + Ring::kFittedBytes + s * kSlabBytes,
                                                         &map_rigid, from, rigid + 64 * s, barrier,
                                                         turn + s, fitted_rank, same_rigid);
            }
          }
        }
      });
    }
    __syncwarp();
  } else {
    // The consumers: kParts slabs of the rigid side each. As in_flight: wait for a stage, issue its
    // products, release the stage before, to all blocks that write to it.
    ptx::setmaxnreg_inc<T::kConsumerRegisters>();
    const int lane = threadIdx.x % 32;
    const bool writes_to_us = lane < T::kCluster && (lane % kFittedBlocks == fitted_rank ||
                                                     lane / kFittedBlocks == rigid_rank);
    const auto release = [&](int stage) {
      if constexpr (T::kCluster == 1) {
        kit::release(&empty[stage]);
      } else if (writes_to_us) {
        ptx::mbarrier_arrive_remote(&empty[stage], lane);
      }
    };
    const int first_slab = (warpgroup - 1) * T::kParts;
    unsigned char* const staging =
        ring + Ring::kRingBytes + (warpgroup - 1) * T::kStaging * kSlabBytes;
    each_tile([&](int fitted, int rigid) {
      float acc[T::kParts][T::kFitted / 2];
      int before = 0;  // the stage of the k tile before
      for (int p = 0; p < k; p += kStep, state.next()) {
        kit::wait_full(full, state);
        ptx::wgmma_fence();
#pragma unroll
        for (int d = 0; d < T::kDepth; ++d) {
          const unsigned char* const from = Ring::tile(ring, state.stage, d);
#pragma unroll
          for (int part = 0; part < T::kParts; ++part) {
            issue_k_tile<kFittedAlongK, !kRigidAlongK>(
                acc[part], from + Ring::kFittedBytes + (first_slab + part) * kSlabBytes, from,
                p == 0 && d == 0);
          }
        }
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<1>();  // the k tile before is done, this one in flight
        if (p > 0) release(before);
        before = state.stage;
      }

      // The last k tile is done: C leaves, while the producer loads for the next tile.
      ptx::wgmma_wait_group<0>();
      release(before);
#pragma unroll
      for (int part = 0; part < T::kParts; ++part) {
        const int at = rigid + 64 * (first_slab + part);
        ptx::fence_registers(acc[part]);
        if constexpr (T::kIsHeight) {
          store_transposed_by_tma<T::kStaging>(acc[part], staging, &c, fitted, at, warpgroup);
        } else {
          store_by_tma<T::kStaging>(acc[part], staging, &c, at, fitted, warpgroup);
        }
      }
    });

    // Shared memory must last until TMA has read it.
    if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();
    __syncwarp();
  }

  // A block may not end while another still writes to its memory.
  ptx::cluster_arrive();
  ptx::cluster_wait();
#else
  (void)map_fitted, (void)map_rigid, (void)c, (void)m, (void)n, (void)k, (void)tiles;
#endif
}

// Operands whose rows TMA can load; c has rows for it, too, or is_loose.
template <class T, bool kTransposedB>
void launch_fitted_tile(const Operands& x, bool is_loose, int m, int n, int k,
                        cudaStream_t stream) {
  constexpr auto kKernel = bf16_gemm_fitted_tile_kernel<T, kTransposedB>;
  using Ring = FittedRing<T, (T::kIsHeight || kTransposedB)>;
  constexpr int kShared = Ring::kRingBytes + T::kStagingBytes;
  const int most = clusters_at_once<kKernel>(T::kCluster, T::kThreads, kShared);
  const TileSchedule tiles =
      one_wave_schedule(m, n, T::kDown * T::kTileM, T::kAcross * T::kTileN, most);
  EitherC c = {is_loose, {x.c, m, n}, {}};
  if (!is_loose) {
    constexpr int kRestRows = T::kIsHeight && T::kRest > 0 ? T::kRest : 64;
    c.maps = {map_of_rows(x.c.data, m, n, 64, x.c.pitch),
              map_of_rows(x.c.data, m, n, kRestRows, x.c.pitch)};
  }
  const auto map_a = map_of_rows(x.a.data, m, k, T::kIsHeight ? T::kFitted : 64, x.a.pitch);
  const auto map_b =
      map_of_b<kTransposedB>(x.b.data, n, k, T::kIsHeight ? 64 : T::kFitted, x.b.pitch);
  launch_clusters<kKernel>(Start::programmatic, std::min(tiles.count(), most), T::kCluster,
                           T::kThreads, kShared, stream, T::kIsHeight ? map_a : map_b,
                           T::kIsHeight ? map_b : map_a, c, is_loose ? kAnywhere : m,
                           is_loose ? kAnywhere : n, k, tiles);
}

// C = A B for operands whose rows TMA can load, and store unless is_loose.
template <bool kTransposedB>
void multiply_in_fitted_tiles(const Operands& x, bool is_loose, int m, int n, int k,
                              cudaStream_t stream) {
  const FittedPlan plan = plan_fitted_tile(Product::of<kTransposedB>(x, m, n, k),
                                           kit::multiprocessor_count(), is_loose);
  int i = 0;
  each_fitted_tile([&](auto tile) {
    if (i++ != plan.tile) return;
    launch_fitted_tile<decltype(tile), kTransposedB>(x, is_loose, m, n, k, stream);
  });
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. Throws Skip if TMA cannot take the matrices.
template <bool kTransposedB>
void bf16_gemm_fitted_tile(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                           int n, int k, cudaStream_t stream) {
  require_vector_rows<kTransposedB>(a, b, c, n, k);
  multiply_in_fitted_tiles<kTransposedB>(dense<kTransposedB>(a, b, c, n, k), false, m, n, k,
                                         stream);
}

}  // namespace matmul::bf16
