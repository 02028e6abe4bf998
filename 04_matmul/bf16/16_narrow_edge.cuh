// Rung 16, narrow_edge: the last columns of C get tiles of their own.
//
// 4104 columns are 16 tiles of 256 and 8 columns more. A 17th tile would be computed nearly in
// vain; narrower tiles for all of C, as rung 14 takes, load more for each product. Here only the
// tiles at the right edge are narrow, and twice as high. They come last, and clusters go through
// the rounds there and back, so they fill the gaps in the last round of whole tiles. What is still
// wrong: a few tiles more than full rounds leave most SMs idle in the last one.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "04_matmul/bf16/15_split_sum.cuh"
#include "04_matmul/bf16/clusters.cuh"
#include "04_matmul/bf16/hopper.cuh"
#include "04_matmul/bf16/pair_tiles.cuh"
#include "04_matmul/sgemm/tiles.cuh"

template <int kCols>
using EdgeTile = TileForm<2, kCols>;

// The pairs of tiles, one below the other, in the order in which they are begun: whole ones, then
// those at the right edge.
struct EdgeOrder {
  TileOrder whole;
  int at_edge;

  static EdgeOrder of(int m, int n) {
    const int cols_of_whole = n - n % WholeTile::kCols;
    return {order_in_bands(m, cols_of_whole, kBlocks * WholeTile::kRows, WholeTile::kCols),
            divide_up(m, kBlocks * EdgeTile<64>::kRows)};
  }
  __host__ __device__ int count() const { return whole.count() + at_edge; }
};

// The pair that cluster number `cluster` of `clusters` computes in a round. If there is no such
// pair, there is none in later rounds either.
__host__ __device__ inline int pair_of(int cluster, int clusters, int round) {
  return round * clusters + (round % 2 == 0 ? cluster : clusters - 1 - cluster);
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Calls visit(form, row, col) for each tile that block `rank` of a cluster computes, whole ones
// first.
template <class Whole, class Edge, class Visit>
__device__ __forceinline__ void each_tile(const EdgeOrder& pairs, int rank, int cluster,
                                          int clusters, Visit visit) {
  int round = 0;
  for (int i; (i = pair_of(cluster, clusters, round)) < pairs.whole.count(); ++round) {
    const int2 pair = pairs.whole.at(i);
    visit(Whole{}, (pair.x * kBlocks + rank) * Whole::kRows, pair.y * Whole::kCols);
  }
  for (int i; (i = pair_of(cluster, clusters, round)) < pairs.count(); ++round) {
    visit(Edge{}, ((i - pairs.whole.count()) * kBlocks + rank) * Edge::kRows,
          pairs.whole.across * Whole::kCols);
  }
}
#endif

template <class Edge, bool kTransposedB>
__global__ void __launch_bounds__(WidePair::kThreads, 1)
    bf16_gemm_narrow_edge_kernel(const __grid_constant__ CUtensorMap map_a,
                                 const __grid_constant__ CUtensorMap map_b,
                                 const __grid_constant__ CUtensorMap map_c, int m, int k,
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
      each_tile<WholeTile, Edge>(pairs, rank, cluster, clusters, [&](auto form, int row, int col) {
        order_steps<decltype(form), kTransposedB>(&map_a, &map_b, row, col, 0, k, ring, full, empty,
                                                  place);
      });
    }
    __syncwarp();
  } else {
    ptx::setmaxnreg_inc<kMultiplyingRegisters>();
    unsigned char* const staging = ring + T::kRingBytes + (warpgroup - 1) * kStagingBytes;
    each_tile<WholeTile, Edge>(pairs, rank, cluster, clusters, [&](auto form, int row, int col) {
      using Form = decltype(form);
      const int first_row = (warpgroup - 1) * 64 * Form::kParts;
      if (row + first_row >= m) return skip_steps(0, k, full, empty, place);
      float sum[Form::kParts][Form::kCols / 2];
      multiply_steps<Form, kTransposedB>(sum, first_row, 0, k, ring, full, empty, place);
#pragma unroll
      for (int i = 0; i < Form::kParts; ++i) {
        store_slabs(sum[i], staging, &map_c, row + first_row + 64 * i, col, warpgroup);
      }
    });
    if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();
    __syncwarp();
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
#else
  (void)map_a, (void)map_b, (void)map_c, (void)m, (void)k, (void)pairs;
#endif
}

template <class Edge, bool kTransposedB>
void launch_narrow_edge(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                        int n, int k, cudaStream_t stream) {
  using T = WidePair;
  constexpr auto kKernel = bf16_gemm_narrow_edge_kernel<Edge, kTransposedB>;
  const EdgeOrder pairs = EdgeOrder::of(m, n);
  const int most = clusters_at_once<kKernel>(kBlocks, T::kThreads, T::kSharedBytes);
  launch_clusters<kKernel>(Start::early, std::min(pairs.count(), most), kBlocks, T::kThreads,
                           T::kSharedBytes, stream, map_of_a(a, m, k, WholeTile::kRows),
                           map_of_b<kTransposedB>(b, n, k, 64), map_of_c(c, m, n), m, k, pairs);
}

// How many clocks the busiest cluster needs, if a pair of whole tiles takes `whole` and one at the
// edge `edge`.
inline double clocks_of_busiest(const EdgeOrder& pairs, int clusters, double whole, double edge) {
  int round = pairs.whole.count() / clusters;  // up to here all clusters have whole tiles
  std::vector<double> clocks(clusters, kClocksOfLaunch + round * whole);
  for (; round * clusters < pairs.count(); ++round) {
    for (int cluster = 0; cluster < clusters; ++cluster) {
      const int pair = pair_of(cluster, clusters, round);
      if (pair < pairs.count()) clocks[cluster] += pair < pairs.whole.count() ? whole : edge;
    }
  }
  return *std::max_element(clocks.begin(), clocks.end());
}

// A step of the narrowest tiles takes as long as its copies, longer than its multiplications
// (measured on an H200).
constexpr double kClocksOfCopies = 700;

// The same by the model of rung 14.
template <class Edge>
double clocks_with_edge(const Product& product, int sms) {
  const auto clocks_of = [&](auto tile) {
    constexpr int kElements = decltype(tile)::kRows * decltype(tile)::kCols;
    return clocks_of_tile(std::max(kClocksOfCopies, kElements / 32.0), kElements, product.k);
  };
  const EdgeOrder pairs = EdgeOrder::of(static_cast<int>(product.m), static_cast<int>(product.n));
  return clocks_of_busiest(pairs, sms / kBlocks, clocks_of(WholeTile{}), clocks_of(Edge{}));
}

struct EdgePlan {
  int cols;  // of the tiles at the right edge, 64 or 128; 0: rung 15 is left to choose
  double clocks;
};
inline EdgePlan plan_edge(const Product& product, int sms) {
  EdgePlan plan = {0, fewest_clocks_by_shape(product, sms)};
  const auto rest = static_cast<int>(product.n % WholeTile::kCols);
  const auto consider = [&](auto edge) {
    const double clocks = clocks_with_edge<decltype(edge)>(product, sms);
    if (clocks <= plan.clocks) plan = {decltype(edge)::kCols, clocks};
  };
  const bool is_large = tiles_of<WholeTile::kRows, WholeTile::kCols>(product.m, product.n) > sms;
  if (is_large && rest > 0 && rest <= 64) consider(EdgeTile<64>{});
  if (is_large && rest > 64 && rest <= 128) consider(EdgeTile<128>{});
  return plan;
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9.
template <bool kTransposedB>
void bf16_gemm_narrow_edge(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                           int n, int k, cudaStream_t stream) {
  int cols = 0;
  if (fits_copy_engine(a, k, b, kTransposedB ? k : n, c, n)) {
    cols = plan_edge(Product::of<kTransposedB>(m, n, k), multiprocessor_count()).cols;
  }
  switch (cols) {
    case 64: return launch_narrow_edge<EdgeTile<64>, kTransposedB>(a, b, c, m, n, k, stream);
    case 128: return launch_narrow_edge<EdgeTile<128>, kTransposedB>(a, b, c, m, n, k, stream);
    default: return bf16_gemm_split_sum<kTransposedB>(a, b, c, m, n, k, stream);
  }
}
