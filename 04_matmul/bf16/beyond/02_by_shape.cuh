// by_shape: the tile is chosen by the shape of the matrices.
//
// The kernel of in_flight with programmatic launch, for tiles of other shapes: one warpgroup or two
// that multiply, one or two times 64 rows for each, one block or two in a cluster. A small model of
// the cycles (kit/cost_model.cuh) takes the cheapest: so few tiles are not too few for the SMs, and
// the last wave is not nearly empty. What is still wrong: with very few tiles, or even one, and a
// long k, most SMs have nothing to do.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "04_matmul/bf16/kit/cost_model.cuh"
#include "04_matmul/bf16/kit/shaped_tile.cuh"
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

// C: CUtensorMap or LooseC.
template <class T, bool kTransposedB, class C>
__global__ void __launch_bounds__(T::kThreads, 1)
    bf16_gemm_by_shape_kernel(const __grid_constant__ CUtensorMap map_a,
                              const __grid_constant__ CUtensorMap map_b,
                              const __grid_constant__ C c, int m, int n, int k,
                              TileSchedule tiles) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr int kCluster = T::kCluster;
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  start_cluster(full, empty, 4 * T::kWarpgroups * kCluster);

  // Clusters take the tiles of C in turns.
  kit::PipelineState<T::kStages> state;
  const int rank = static_cast<int>(ptx::cluster_rank());
  const int first = static_cast<int>(blockIdx.x) / kCluster;
  const int clusters = static_cast<int>(gridDim.x) / kCluster;
  const auto row_of = [&](int2 tile) {
    return row_inside((tile.x * kCluster + rank) * T::kTileM, T::kTileM, m);
  };
  const auto col_of = [&](int2 tile) { return col_inside(tile.y * T::kTileN, T::kTileN, n); };
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    // The producer: alone in its block, or with its part of B's tile for both.
    if constexpr (T::kWarpgroups == 2) ptx::setmaxnreg_dec<T::kProducerRegisters>();
    if (threadIdx.x == 0) {
      for (int i = first; i < tiles.count(); i += clusters) {
        const int2 tile = tiles.at(i);
        const int row = row_of(tile), col = col_of(tile);
        for (int p = 0; p < k; p += kTileK, state.next()) {
          unsigned char* const stage = ring + state.stage * T::kStageBytes;
          std::uint64_t* const barrier = &full[state.stage];
          kit::wait_empty(empty, state);
          ptx::mbarrier_arrive_expect_tx(barrier, T::kStageBytes);
          ptx::tensor_load(stage, &map_a, p, row, barrier);
          if constexpr (kCluster == 1) {
            issue_b<kTransposedB, T::kTileN>(stage + T::kBytesA, &map_b, p, col, barrier);
          } else {
            issue_b_multicast<kTransposedB, T::kTileN / kCluster>(stage + T::kBytesA, &map_b, p,
                                                                  col, rank, barrier);
          }
        }
      }
    }
    __syncwarp();
  } else {
    // The consumers: kParts times 64 rows each.
    if constexpr (T::kWarpgroups == 2) ptx::setmaxnreg_inc<T::kConsumerRegisters>();
    const int first_row = (warpgroup - 1) * 64 * T::kParts;
    unsigned char* const staging = T::staging(ring, warpgroup);
    for (int i = first; i < tiles.count(); i += clusters) {
      const int2 tile = tiles.at(i);
      const int row = row_of(tile) + first_row, col = col_of(tile);

      // As in_flight: wait for a stage, issue its products, release the stage before.
      float acc[T::kParts][T::kTileN / 2];
      int before = 0;  // the stage of the k tile before
      for (int p = 0; p < k; p += kTileK, state.next()) {
        const unsigned char* const stage = ring + state.stage * T::kStageBytes;
        kit::wait_full(full, state);
        ptx::wgmma_fence();
#pragma unroll
        for (int part = 0; part < T::kParts; ++part) {
          issue_k_tile<kTransposedB>(acc[part], stage + (first_row + 64 * part) * kRowBytes,
                                     stage + T::kBytesA, p == 0);
        }
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<1>();  // the k tile before is done, this one in flight
        if (p > 0) release_stage<T>(&empty[before]);
        before = state.stage;
      }

      // The last k tile is done: C leaves, while the producer loads for the next tile.
      ptx::wgmma_wait_group<0>();
      release_stage<T>(&empty[before]);
#pragma unroll
      for (int part = 0; part < T::kParts; ++part) {
        ptx::fence_registers(acc[part]);
        store_by_tma(acc[part], staging, &c, row + 64 * part, col, warpgroup);
      }
    }

    // Shared memory must last until TMA has read it.
    if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();
    __syncwarp();
  }

  // A block may not end while another still writes to its memory.
  ptx::cluster_arrive();
  ptx::cluster_wait();
#else
  (void)map_a, (void)map_b, (void)c, (void)m, (void)n, (void)k, (void)tiles;
#endif
}

template <class T, bool kTransposedB, bool kLoose>
void launch_by_shape(const Operands& x, int m, int n, int k, cudaStream_t stream) {
  using C = std::conditional_t<kLoose, LooseC, CUtensorMap>;
  constexpr int kCluster = T::kCluster;
  constexpr auto kKernel = bf16_gemm_by_shape_kernel<T, kTransposedB, C>;
  const int most = clusters_at_once<kKernel>(kCluster, T::kThreads, T::kSharedBytes);
  const TileSchedule tiles = one_wave_schedule(m, n, kCluster * T::kTileM, T::kTileN, most);
  const C c = [&]() -> C {
    if constexpr (kLoose) return {x.c, m, n};
    if constexpr (!kLoose) return map_of_rows(x.c.data, m, n, 64, x.c.pitch);
  }();
  launch_clusters<kKernel>(Start::programmatic, std::min(tiles.count(), most), kCluster,
                           T::kThreads, T::kSharedBytes, stream,
                           map_of_rows(x.a.data, m, k, T::kTileM, x.a.pitch),
                           map_of_b<kTransposedB>(x.b.data, n, k, T::kTileN / kCluster, x.b.pitch),
                           c, kLoose ? kAnywhere : m, kLoose ? kAnywhere : n, k, tiles);
}

// C = A B for operands whose rows TMA can load, and store unless kLoose.
template <bool kTransposedB, bool kLoose>
void multiply_by_shape(const Operands& x, int m, int n, int k, cudaStream_t stream) {
  with_cheapest_tile(Product::of<kTransposedB>(x, m, n, k), kit::multiprocessor_count(),
                     [&](auto tile) {
                       launch_by_shape<decltype(tile), kTransposedB, kLoose>(x, m, n, k, stream);
                     });
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. Throws Skip if TMA cannot take the matrices.
template <bool kTransposedB>
void bf16_gemm_by_shape(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                        int n, int k, cudaStream_t stream) {
  require_vector_rows<kTransposedB>(a, b, c, n, k);
  multiply_by_shape<kTransposedB, false>(dense<kTransposedB>(a, b, c, n, k), m, n, k, stream);
}

}  // namespace matmul::bf16
