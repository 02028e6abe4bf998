// full_waves: the waves come out even.
//
// 4096 x 4096 elements are 256 pairs of tiles: three waves of 66 clusters, and 58 pairs. With 248
// rows instead of 256 they are 256 as well, and 8 pairs at the edge: four full waves. wgmma's rows
// are always 64, its columns any multiple of 8; so the tile is transposed, C^T = B^T A^T, and what
// is 248 wide is A. The accumulators are transposed back on their way to shared memory. What is
// still wrong: power holds the clock at two thirds; and while C is stored nobody multiplies.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "04_matmul/bf16/kit/cluster_tile.cuh"
#include "04_matmul/bf16/kit/cost_model.cuh"
#include "04_matmul/bf16/kit/edge_schedule.cuh"
#include "04_matmul/bf16/kit/remembered_plan.hpp"
#include "04_matmul/bf16/kit/shaped_tile.cuh"
#include "04_matmul/bf16/kit/transposed_pairs.cuh"
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

namespace matmul::bf16 {

template <class Whole, class Edge, bool kTransposedB, class C>
__global__ void __launch_bounds__(WidePair::kThreads, 1)
    bf16_gemm_full_waves_kernel(const __grid_constant__ CUtensorMap map_a,
                                const __grid_constant__ CUtensorMap map_b,
                                const __grid_constant__ C c, int n, int k, EdgeSchedule pairs) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using T = WidePair;
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  start_cluster(full, empty, 4 * T::kWarpgroups * kClusterSize);

  kit::PipelineState<T::kStages> state;
  const int rank = static_cast<int>(ptx::cluster_rank());
  const int cluster = static_cast<int>(blockIdx.x) / kClusterSize;
  const int clusters = static_cast<int>(gridDim.x) / kClusterSize;
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<T::kProducerRegisters>();
    if (threadIdx.x == 0) {
      // A and B change places. B's columns run along k where B is n x k, as A's rows otherwise do;
      // where it is k x n, it is a transposed A. And A is a transposed B.
      each_tile<Whole, Edge>(pairs, rank, cluster, clusters, [&](auto tile, int col, int row) {
        issue_k_tiles<decltype(tile), true, !kTransposedB>(&map_b, &map_a, col, row, 0, k, ring,
                                                           full, empty, state);
      });
    }
    __syncwarp();
  } else {
    // The consumers: a warpgroup whose columns lie right of C only releases the stages.
    ptx::setmaxnreg_inc<T::kConsumerRegisters>();
    unsigned char* const staging = T::staging(ring, warpgroup);
    each_tile<Whole, Edge>(pairs, rank, cluster, clusters, [&](auto tile, int col, int row) {
      using Tile = decltype(tile);
      const int first_col = (warpgroup - 1) * 64 * Tile::kParts;
      if (col + first_col >= n) return skip_k_tiles(0, k, full, empty, state);
      float acc[Tile::kParts][Tile::kTileN / 2];
      multiply_k_tiles<Tile, true, !kTransposedB>(acc, first_col, 0, k, ring, full, empty, state);
#pragma unroll
      for (int i = 0; i < Tile::kParts; ++i) {
        store_transposed_by_tma(acc[i], staging, &c, row, col + first_col + 64 * i, warpgroup);
      }
    });
    if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();
    __syncwarp();
  }

  // A block may not end while the other still writes to its memory.
  ptx::cluster_arrive();
  ptx::cluster_wait();
#else
  (void)map_a, (void)map_b, (void)c, (void)n, (void)k, (void)pairs;
#endif
}

// kLoose: c is LooseC, otherwise TMA can store it.
template <class Whole, class Edge, bool kTransposedB, bool kLoose>
void launch_full_waves(const Operands& x, int m, int n, int k, cudaStream_t stream) {
  using T = WidePair;
  using C = std::conditional_t<kLoose, LooseC, MapsOfC>;
  constexpr auto kKernel = bf16_gemm_full_waves_kernel<Whole, Edge, kTransposedB, C>;
  constexpr int kRest = Whole::kTileN % 64;
  static_assert(kRest == 0 || kRest >= 16, "sums are stored 16 rows at a time");
  static_assert(Edge::kTileN % 64 == 0, "MapsOfC::rest is for whole tiles");
  const EdgeSchedule pairs = transposed_pairs<Whole, Edge>(m, n);
  const int most = clusters_at_once<kKernel>(kClusterSize, T::kThreads, T::kSharedBytes);
  const C c = [&]() -> C {
    if constexpr (kLoose) return {x.c, m, n};
    if constexpr (!kLoose) {
      return {map_of_rows(x.c.data, m, n, 64, x.c.pitch),
              map_of_rows(x.c.data, m, n, kRest == 0 ? 64 : kRest, x.c.pitch)};
    }
  }();
  launch_clusters<kKernel>(
      Start::programmatic, std::min(pairs.count(), most), kClusterSize, T::kThreads,
      T::kSharedBytes, stream, map_of_rows(x.a.data, m, k, 64, x.a.pitch),
      map_of_b<kTransposedB>(x.b.data, n, k, Whole::kTileM, x.b.pitch), c, n, k, pairs);
}

// Calls visit(whole tile, edge) with all shapes to choose from.
template <class Visit>
void each_transposed_form(Visit visit) {
  visit(TransposedTile<248>{}, TransposedEdge<128>{});
  visit(TransposedTile<248>{}, TransposedEdge<256>{});
  visit(TransposedTile<192>{}, TransposedEdge<128>{});
  visit(TransposedTile<192>{}, TransposedEdge<256>{});
}

inline PairsPlan plan_full_waves(const Product& product, int clusters) {
  return remembered_plan(product, clusters, [&] {
    return plan_pairs(product, clusters, cycles_of_store,
                      [](auto visit) { each_transposed_form(visit); });
  });
}

// C = A B for operands whose rows TMA can load, and store unless kLoose.
template <bool kTransposedB, bool kLoose>
void multiply_in_full_waves(const Operands& x, int m, int n, int k, cudaStream_t stream) {
  const PairsPlan plan = plan_full_waves(Product::of<kTransposedB>(x, m, n, k),
                                         kit::multiprocessor_count() / kClusterSize);
  each_transposed_form([&](auto whole, auto edge) {
    if (plan.rows != whole.kTileN || plan.rows_at_edge != edge.kTileN) return;
    launch_full_waves<decltype(whole), decltype(edge), kTransposedB, kLoose>(x, m, n, k, stream);
  });
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. Throws Skip if TMA cannot take the matrices.
template <bool kTransposedB>
void bf16_gemm_full_waves(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                          int n, int k, cudaStream_t stream) {
  require_vector_rows<kTransposedB>(a, b, c, n, k);
  multiply_in_full_waves<kTransposedB, false>(dense<kTransposedB>(a, b, c, n, k), m, n, k, stream);
}

}  // namespace matmul::bf16
