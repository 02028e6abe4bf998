// Rung 18, even_rounds: the rounds come out even.
//
// 4096 x 4096 elements are 256 pairs of tiles: three rounds of 66 clusters, and 58 pairs. With 248
// rows instead of 256 they are 256 as well, and 8 pairs at the edge: four full rounds. wgmma's rows
// are always 64, its columns any multiple of 8; so the tile is turned: C's transpose is that of B
// times that of A, and what is 248 wide is A. The sums are turned back on their way to shared
// memory. What is still wrong: at this power the chip runs at two thirds of its highest clock, and
// nothing here changes what a multiplication takes.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/bf16/16_narrow_edge.cuh"
#include "04_matmul/bf16/17_shared_round.cuh"
#include "04_matmul/bf16/clocks.cuh"
#include "04_matmul/bf16/clusters.cuh"
#include "04_matmul/bf16/hopper.cuh"
#include "04_matmul/bf16/pair_tiles.cuh"
#include "04_matmul/bf16/turned_tiles.cuh"
#include "04_matmul/sgemm/tiles.cuh"

template <class Whole, class Edge, bool kTransposedB>
__global__ void __launch_bounds__(WidePair::kThreads, 1)
    bf16_gemm_even_rounds_kernel(const __grid_constant__ CUtensorMap map_a,
                                 const __grid_constant__ CUtensorMap map_b,
                                 const __grid_constant__ CUtensorMap map_c,
                                 const __grid_constant__ CUtensorMap map_rest, int n, int k,
                                 EdgeOrder pairs) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using T = WidePair;
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  prepare_ring<T>(full, empty, 4 * T::kWarpgroups * kBlocks);

  RingPlace<T::kStages> place;
  const int rank = static_cast<int>(ptx::cluster_rank());
  const int cluster = static_cast<int>(blockIdx.x) / kBlocks;
  const int clusters = static_cast<int>(gridDim.x) / kBlocks;
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<kLoadingRegisters>();
    if (threadIdx.x == 0) {
      // A and B change places. B's columns run along k where B is n x k, as A's rows otherwise do;
      // where it is k x n, it is a transposed A. And A is a transposed B.
      each_tile<Whole, Edge>(pairs, rank, cluster, clusters, [&](auto form, int col, int row) {
        order_steps<decltype(form), true, !kTransposedB>(&map_b, &map_a, col, row, 0, k, ring, full,
                                                         empty, place);
      });
    }
    __syncwarp();
  } else {
    ptx::setmaxnreg_inc<kMultiplyingRegisters>();
    unsigned char* const staging = ring + T::kRingBytes + (warpgroup - 1) * kStagingBytes;
    each_tile<Whole, Edge>(pairs, rank, cluster, clusters, [&](auto form, int col, int row) {
      using Form = decltype(form);
      const int first_col = (warpgroup - 1) * 64 * Form::kParts;
      if (col + first_col >= n) return skip_steps(0, k, full, empty, place);
      float sum[Form::kParts][Form::kCols / 2];
      multiply_steps<Form, true, !kTransposedB>(sum, first_col, 0, k, ring, full, empty, place);
#pragma unroll
      for (int i = 0; i < Form::kParts; ++i) {
        store_turned(sum[i], staging, &map_c, &map_rest, row, col + first_col + 64 * i, warpgroup);
      }
    });
    if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();
    __syncwarp();
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
#else
  (void)map_a, (void)map_b, (void)map_c, (void)map_rest, (void)n, (void)k, (void)pairs;
#endif
}

template <class Whole, class Edge, bool kTransposedB>
void launch_even_rounds(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                        int n, int k, cudaStream_t stream) {
  using T = WidePair;
  constexpr auto kKernel = bf16_gemm_even_rounds_kernel<Whole, Edge, kTransposedB>;
  constexpr int kRest = Whole::kCols % 64;
  static_assert(kRest == 0 || kRest >= 16, "sums are stored 16 rows at a time");
  static_assert(Edge::kCols % 64 == 0, "map_rest is for whole tiles");
  const EdgeOrder pairs = turned_pairs<Whole, Edge>(m, n);
  const int most = clusters_at_once<kKernel>(kBlocks, T::kThreads, T::kSharedBytes);
  launch_clusters<kKernel>(Start::early, std::min(pairs.count(), most), kBlocks, T::kThreads,
                           T::kSharedBytes, stream, map_of_a(a, m, k, 64),
                           map_of_b<kTransposedB>(b, n, k, Whole::kRows), map_of_c(c, m, n),
                           map_of_rows(c, m, n, kRest == 0 ? 64 : kRest), n, k, pairs);
}

// How many clocks that takes, by the models of rungs 14 and 16.
template <class Whole, class Edge>
double clocks_of_even_rounds(const Product& product, int clusters) {
  const auto clocks_of = [&](auto tile) {
    using Tile = decltype(tile);
    // As in rung 14 a smaller tile takes 3 % longer; one of 248 rows does not (measured on an
    // H200).
    constexpr double kSlower = Tile::kParts == 1 && Tile::kCols < 248 ? 1.03 : 1;
    constexpr int kElements = Tile::kRows * Tile::kCols;
    const double from_l2 =
        product.b_reads * Tile::kBytesA + product.a_reads * Tile::kSlabs * kSlabBytes / kBlocks;
    const double step =
        std::max({kClocksOfCopies, kSlower * kElements / 32, kClocksOfKilobyte / 1024 * from_l2});
    return clocks_of_tile(step, kElements, product.k);
  };
  return clocks_of_busiest(
      turned_pairs<Whole, Edge>(static_cast<int>(product.m), static_cast<int>(product.n)), clusters,
      clocks_of(Whole{}), clocks_of(Edge{}));
}

// Calls visit(whole tile, edge) with all forms to choose from.
template <class Visit>
void each_turned_form(Visit visit) {
  visit(TurnedTile<248>{}, TurnedEdge<128>{});
  visit(TurnedTile<248>{}, TurnedEdge<256>{});
  visit(TurnedTile<192>{}, TurnedEdge<128>{});
  visit(TurnedTile<192>{}, TurnedEdge<256>{});
}

// The rows of a whole tile and of one at the edge that should take the fewest clocks; 0: the rungs
// before should take no more, or all pairs of tiles fit into one round.
struct RoundsPlan {
  int rows, rows_at_edge;
};
inline RoundsPlan plan_even_rounds(const Product& product, int sms, int clusters) {
  RoundsPlan plan = {0, 0};
  if (tiles_of<kBlocks * WholeTile::kRows, WholeTile::kCols>(product.m, product.n) <= clusters) {
    return plan;
  }
  double fewest =
      std::min(plan_edge(product, sms).clocks, clocks_of_shared_round(product, clusters));
  each_turned_form([&](auto whole, auto edge) {
    const double clocks = clocks_of_even_rounds<decltype(whole), decltype(edge)>(product, clusters);
    if (clocks < fewest) {
      fewest = clocks;
      plan = {whole.kCols, edge.kCols};
    }
  });
  return plan;
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. pieces: kBytesOfPieces, this launch's until it has ended.
template <bool kTransposedB>
void bf16_gemm_even_rounds(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                           int n, int k, float4* pieces, cudaStream_t stream) {
  RoundsPlan plan = {0, 0};
  if (fits_copy_engine(a, k, b, kTransposedB ? k : n, c, n)) {
    plan = plan_even_rounds(Product::of<kTransposedB>(m, n, k), multiprocessor_count(),
                            clusters_that_share<kTransposedB>());
  }
  if (plan.rows == 0) {
    return bf16_gemm_shared_round<kTransposedB>(a, b, c, m, n, k, pieces, stream);
  }
  each_turned_form([&](auto whole, auto edge) {
    if (plan.rows != whole.kCols || plan.rows_at_edge != edge.kCols) return;
    launch_even_rounds<decltype(whole), decltype(edge), kTransposedB>(a, b, c, m, n, k, stream);
  });
}
