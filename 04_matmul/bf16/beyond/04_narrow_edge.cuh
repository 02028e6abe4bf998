// narrow_edge: the last columns of C get tiles of their own.
//
// 4104 columns are 16 tiles of 256 and 8 columns more. A 17th tile would be computed nearly in
// vain; narrower tiles for all of C, as by_shape takes, load more for each product. Here only the
// tiles at the right edge are narrow, and twice as high. They come last, and clusters go through
// the waves in serpentine order, so they fill the gaps in the last wave of whole tiles. What is
// still wrong: a few tiles more than full waves leave most SMs idle in the last one.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/bf16/kit/cluster_tile.cuh"
#include "04_matmul/bf16/kit/edge_schedule.cuh"
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

namespace matmul::bf16 {

template <int kTileN>
using EdgeTile = ClusterTile<2, kTileN>;

template <class Edge, bool kTransposedB>
__global__ void __launch_bounds__(WidePair::kThreads, 1)
    bf16_gemm_narrow_edge_kernel(const __grid_constant__ CUtensorMap map_a,
                                 const __grid_constant__ CUtensorMap map_b,
                                 const __grid_constant__ CUtensorMap map_c, int m, int k,
                                 EdgeSchedule pairs) {
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
    // The producer: the tiles of this cluster, whole ones first.
    ptx::setmaxnreg_dec<T::kProducerRegisters>();
    if (threadIdx.x == 0) {
      each_tile<WholeTile, Edge>(pairs, rank, cluster, clusters, [&](auto tile, int row, int col) {
        issue_k_tiles<decltype(tile), kTransposedB>(&map_a, &map_b, row, col, 0, k, ring, full,
                                                    empty, state);
      });
    }
    __syncwarp();
  } else {
    // The consumers: a warpgroup whose rows lie below C only releases the stages.
    ptx::setmaxnreg_inc<T::kConsumerRegisters>();
    unsigned char* const staging = T::staging(ring, warpgroup);
    each_tile<WholeTile, Edge>(pairs, rank, cluster, clusters, [&](auto tile, int row, int col) {
      using Tile = decltype(tile);
      const int first_row = (warpgroup - 1) * 64 * Tile::kParts;
      if (row + first_row >= m) return skip_k_tiles(0, k, full, empty, state);
      float acc[Tile::kParts][Tile::kTileN / 2];
      multiply_k_tiles<Tile, kTransposedB>(acc, first_row, 0, k, ring, full, empty, state);
#pragma unroll
      for (int i = 0; i < Tile::kParts; ++i) {
        store_by_tma(acc[i], staging, &map_c, row + first_row + 64 * i, col, warpgroup);
      }
    });
    if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();
    __syncwarp();
  }

  // A block may not end while the other still writes to its memory.
  ptx::cluster_arrive();
  ptx::cluster_wait();
#else
  (void)map_a, (void)map_b, (void)map_c, (void)m, (void)k, (void)pairs;
#endif
}

// The columns of the tiles at the right edge, 64 or 128; 0: what is left over gets whole tiles.
inline int edge_columns(std::int64_t n) {
  const auto rest = static_cast<int>(n % WholeTile::kTileN);
  return rest == 0 || rest > 128 ? 0 : rest <= 64 ? 64 : 128;
}

inline EdgeSchedule edge_schedule(std::int64_t m, std::int64_t n) {
  const bool has_edge = edge_columns(n) > 0;
  const auto rows = static_cast<int>(m);
  const auto cols_of_whole = static_cast<int>(has_edge ? n - n % WholeTile::kTileN : n);
  return {
      grouped_schedule(rows, cols_of_whole, kClusterSize * WholeTile::kTileM, WholeTile::kTileN),
      has_edge ? kit::divide_up(m, kClusterSize * EdgeTile<64>::kTileM) : 0};
}

template <class Edge, bool kTransposedB>
void launch_narrow_edge(const Operands& x, int m, int n, int k, cudaStream_t stream) {
  using T = WidePair;
  constexpr auto kKernel = bf16_gemm_narrow_edge_kernel<Edge, kTransposedB>;
  const EdgeSchedule pairs = edge_schedule(m, n);
  const int most = clusters_at_once<kKernel>(kClusterSize, T::kThreads, T::kSharedBytes);
  launch_clusters<kKernel>(Start::programmatic, std::min(pairs.count(), most), kClusterSize,
                           T::kThreads, T::kSharedBytes, stream,
                           map_of_rows(x.a.data, m, k, WholeTile::kTileM, x.a.pitch),
                           map_of_b<kTransposedB>(x.b.data, n, k, 64, x.b.pitch),
                           map_of_rows(x.c.data, m, n, 64, x.c.pitch), m, k, pairs);
}

// C = A B for operands whose rows TMA can load and store.
template <bool kTransposedB>
void multiply_with_narrow_edge(const Operands& x, int m, int n, int k, cudaStream_t stream) {
  // Without an edge the form of the tiles there makes no difference.
  if (edge_columns(n) == 128) {
    launch_narrow_edge<EdgeTile<128>, kTransposedB>(x, m, n, k, stream);
  } else {
    launch_narrow_edge<EdgeTile<64>, kTransposedB>(x, m, n, k, stream);
  }
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. Throws Skip if TMA cannot take the matrices.
template <bool kTransposedB>
void bf16_gemm_narrow_edge(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                           int n, int k, cudaStream_t stream) {
  require_vector_rows<kTransposedB>(a, b, c, n, k);
  multiply_with_narrow_edge<kTransposedB>(dense<kTransposedB>(a, b, c, n, k), m, n, k, stream);
}

}  // namespace matmul::bf16
