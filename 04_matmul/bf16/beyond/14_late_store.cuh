// late_store: C leaves while the next tile is multiplied.
//
// Between two tiles a warpgroup stores C, slab by slab, and its tensor cores wait: some 2400 cycles
// of 18,800 where k is 1024. Now it only rounds the sums. Two fit into a register, so a thread has
// room for them beside the sums of the next tile: 64 registers beside 128, of 240. They are stored
// after the products of the next k tiles have been issued, a slab after each of the first four.
// Tiles are those of full_waves, and one of 256 rows. What is still wrong: the last tile is stored
// as late as ever.
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
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/cluster.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::bf16 {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// A tile of C that a warpgroup has rounded and not stored yet: of the form Whole or Edge, in slabs
// of 64 rows and 64 columns, transposed as the sums were.
template <class Whole, class Edge>
struct LateTile {
  template <class Tile>
  static constexpr int kDown = kit::divide_up(Tile::kTileN, 64);  // slabs below each other
  static constexpr int kMostSlabs = 4;
  static_assert(kDown<Whole> <= kMostSlabs && Edge::kParts * kDown<Edge> == kMostSlabs);

  // Of this thread: two sums, rounded, that are neighbours in a column of C. A whole tile of 248
  // rows leaves the last ones of its last slab unset, rows 56 to 63, and nobody stores these.
  std::uint32_t two[kMostSlabs][16];
  int row, col;
  int slabs = 0;  // none yet
  bool is_whole;

  template <class Tile>
  __device__ __forceinline__ void take(const float (&acc)[Tile::kParts][Tile::kTileN / 2],
                                       int at_row, int at_col) {
#pragma unroll
    for (int part = 0; part < Tile::kParts; ++part) {
#pragma unroll
      for (int i = 0; i < Tile::kTileN / 4; ++i) {
        two[part * kDown<Tile> + i / 16][i % 16] =
            ptx::pack_bf16(acc[part][2 * i], acc[part][2 * i + 1]);
      }
    }
    row = at_row, col = at_col;
    slabs = Tile::kParts * kDown<Tile>, is_whole = std::is_same_v<Tile, Whole>;
  }

  // Stores slab `s`, if there is one, as store_transposed_by_tma does. Of the last slab of 248
  // rows, 56 are stored.
  __device__ __forceinline__ void store(int s, unsigned char* staging, const MapsOfC* c,
                                        int barrier) {
    if (s >= slabs) return;
    const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
    const int chunk = 2 * warp + lane / 8 % 2, y = lane / 16 * 8 + lane % 8;
    unsigned char* const slab = staging + s % kStagingSlabs * kSlabBytes;
    // Two places take turns, so TMA may still read the slab before this one. Three slabs and the
    // first of the next tile are in places 0, 1, 0 and 0: the first one waits for all.
    if (thread == 0) s == 0 ? ptx::bulk_wait_group_read<0>() : ptx::bulk_wait_group_read<1>();
    ptx::named_barrier_sync(barrier, 128);  // the slab is free
#pragma unroll
    for (int i = 0; i < kMostSlabs; ++i) {  // unrolled: registers have no index at run time
      if (i != s) continue;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        ptx::stmatrix_x4_trans(slab + (16 * j + y) * kRowBytes + (chunk ^ (y % 8)) * 16,
                               two[i][4 * j], two[i][4 * j + 1], two[i][4 * j + 2],
                               two[i][4 * j + 3]);
      }
    }
    ptx::fence_proxy_async();
    ptx::named_barrier_sync(barrier, 128);  // the slab is complete
    const int down = is_whole ? kDown<Whole> : kDown<Edge>, below = s % down;
    const int rows = is_whole ? min(64, Whole::kTileN - 64 * below) : 64;
    store_slab(c, slab, rows, row + 64 * below, col + s / down * 64);
  }
};
#endif

template <class Whole, class Edge, bool kTransposedB>
__global__ void __launch_bounds__(WidePair::kThreads, 1)
    bf16_gemm_late_store_kernel(const __grid_constant__ CUtensorMap map_a,
                                const __grid_constant__ CUtensorMap map_b,
                                const __grid_constant__ MapsOfC c, int n, int k,
                                EdgeSchedule pairs) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using T = WidePair;
  constexpr int kProducerRegisters = 24, kConsumerRegisters = 240;  // 64,512 of 65,536
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  start_cluster(full, empty, 4 * T::kWarpgroups * kClusterSize);

  kit::PipelineState<T::kStages> state;
  const int rank = static_cast<int>(ptx::cluster_rank());
  const int cluster = static_cast<int>(blockIdx.x) / kClusterSize;
  const int clusters = static_cast<int>(gridDim.x) / kClusterSize;
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    // The producer, as in full_waves: A and B change places.
    ptx::setmaxnreg_dec<kProducerRegisters>();
    if (threadIdx.x == 0) {
      each_tile<Whole, Edge>(pairs, rank, cluster, clusters, [&](auto tile, int col, int row) {
        issue_k_tiles<decltype(tile), true, !kTransposedB>(&map_b, &map_a, col, row, 0, k, ring,
                                                           full, empty, state);
      });
    }
    __syncwarp();
  } else {
    // The consumers: a warpgroup whose columns lie right of C only releases the stages.
    ptx::setmaxnreg_inc<kConsumerRegisters>();
    unsigned char* const staging = T::staging(ring, warpgroup);
    LateTile<Whole, Edge> late;
    each_tile<Whole, Edge>(pairs, rank, cluster, clusters, [&](auto tile, int col, int row) {
      using Tile = decltype(tile);
      const int first_col = (warpgroup - 1) * 64 * Tile::kParts;
      if (col + first_col >= n) return skip_k_tiles(0, k, full, empty, state);

      // region k_loop
      float acc[Tile::kParts][Tile::kTileN / 2];
      int before = 0, step = 0;  // the stage of the k tile before; the number of this one
      for (int p = 0; p < k; p += kTileK, ++step, state.next()) {
        const unsigned char* const stage = ring + state.stage * T::kStageBytes;
        kit::wait_full(full, state);
        ptx::wgmma_fence();
#pragma unroll
        for (int i = 0; i < Tile::kParts; ++i) {
          issue_k_tile<true, !kTransposedB>(acc[i], stage + (first_col + 64 * i) * kRowBytes,
                                            stage + Tile::kBytesA, p == 0);
        }
        ptx::wgmma_commit_group();
        late.store(step, staging, &c, warpgroup);  // meanwhile, of the tile before
        ptx::wgmma_wait_group<1>();
        if (p > 0) release_stage<T>(&empty[before]);
        before = state.stage;
      }
      ptx::wgmma_wait_group<0>();
      release_stage<T>(&empty[before]);
      for (; step < late.kMostSlabs; ++step) late.store(step, staging, &c, warpgroup);  // the rest
#pragma unroll
      for (int i = 0; i < Tile::kParts; ++i) ptx::fence_registers(acc[i]);
      late.template take<Tile>(acc, row, col + first_col);
      // endregion
    });
    for (int s = 0; s < late.kMostSlabs; ++s) late.store(s, staging, &c, warpgroup);
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

template <class Whole, class Edge, bool kTransposedB>
void launch_late_store(const Operands& x, int m, int n, int k, cudaStream_t stream) {
  using T = WidePair;
  constexpr auto kKernel = bf16_gemm_late_store_kernel<Whole, Edge, kTransposedB>;
  constexpr int kRest = Whole::kTileN % 64;
  static_assert(Edge::kTileN % 64 == 0, "MapsOfC::rest is for whole tiles");
  const EdgeSchedule pairs = transposed_pairs<Whole, Edge>(m, n);
  const int most = clusters_at_once<kKernel>(kClusterSize, T::kThreads, T::kSharedBytes);
  const MapsOfC c = {map_of_rows(x.c.data, m, n, 64, x.c.pitch),
                     map_of_rows(x.c.data, m, n, kRest == 0 ? 64 : kRest, x.c.pitch)};
  launch_clusters<kKernel>(
      Start::programmatic, std::min(pairs.count(), most), kClusterSize, T::kThreads,
      T::kSharedBytes, stream, map_of_rows(x.a.data, m, k, 64, x.a.pitch),
      map_of_b<kTransposedB>(x.b.data, n, k, Whole::kTileM, x.b.pitch), c, n, k, pairs);
}

// Calls visit(whole tile, edge) with all shapes to choose from.
template <class Visit>
void each_late_form(Visit visit) {
  visit(TransposedTile<256>{}, TransposedEdge<128>{});
  visit(TransposedTile<256>{}, TransposedEdge<256>{});
  visit(TransposedTile<248>{}, TransposedEdge<128>{});
  visit(TransposedTile<248>{}, TransposedEdge<256>{});
  visit(TransposedTile<192>{}, TransposedEdge<128>{});
  visit(TransposedTile<192>{}, TransposedEdge<256>{});
}

// The form to take, and the cycles that it should take. Of the 2400 cycles in which full_waves
// stores a tile, 1500 are left: to round it, and until products run again. The last tile takes all.
// With fewer than four k tiles the rung loses, and more than that (measured on an H200).
inline PairsPlan plan_late_store(const Product& product, int clusters) {
  return remembered_plan(product, clusters, [&] {
    const double left = product.k <= 3 * kTileK ? 2500 : 1500;
    PairsPlan plan = plan_pairs(
        product, clusters, [&](int /*elements*/) { return left; },
        [](auto visit) { each_late_form(visit); });
    plan.cycles += 900;
    return plan;
  });
}

// C = A B for operands whose rows TMA can load and store.
template <bool kTransposedB>
void multiply_with_late_store(const Operands& x, int m, int n, int k, cudaStream_t stream) {
  const PairsPlan plan = plan_late_store(Product::of<kTransposedB>(x, m, n, k),
                                         kit::multiprocessor_count() / kClusterSize);
  each_late_form([&](auto whole, auto edge) {
    if (plan.rows != whole.kTileN || plan.rows_at_edge != edge.kTileN) return;
    launch_late_store<decltype(whole), decltype(edge), kTransposedB>(x, m, n, k, stream);
  });
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. Throws Skip if TMA cannot take the matrices.
template <bool kTransposedB>
void bf16_gemm_late_store(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                          int n, int k, cudaStream_t stream) {
  require_vector_rows<kTransposedB>(a, b, c, n, k);
  multiply_with_late_store<kTransposedB>(dense<kTransposedB>(a, b, c, n, k), m, n, k, stream);
}

}  // namespace matmul::bf16
