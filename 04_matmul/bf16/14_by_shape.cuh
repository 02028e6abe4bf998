// Rung 14, by_shape: the tile is chosen by the shape of the matrices.
//
// The kernel of the rung before, for tiles of other shapes: one warpgroup or two that multiply, one
// or two times 64 rows for each, one block or two in a cluster. A small model of the time takes the
// cheapest. A lone warpgroup would leave the tensor cores idle between two steps, so each step is
// now awaited when the next is under way. What is still wrong: with few tiles, or even one, and
// long sums, most SMs have nothing to do.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "04_matmul/bf16/06_multistage.cuh"
#include "04_matmul/bf16/13_early_start.cuh"
#include "04_matmul/bf16/clocks.cuh"
#include "04_matmul/bf16/clusters.cuh"
#include "04_matmul/bf16/hopper.cuh"
#include "04_matmul/sgemm/tiles.cuh"

// A HopperTile and who works on it: kWarpgroups multiply, 64 kParts rows each. kClusterBlocks
// tiles, one below the other, are computed by a cluster.
template <int kRows, int kCols, int kStages, int kMultiplyingWarpgroups, int kClusterBlocks>
struct ShapedTile : HopperTile<kRows, kCols, kStages> {
  static constexpr int kWarpgroups = kMultiplyingWarpgroups, kBlocksOfCluster = kClusterBlocks;
  static constexpr int kThreads = 128 * (1 + kWarpgroups);
  static constexpr int kParts = kRows / (64 * kWarpgroups);
  static constexpr int kSharedBytes =
      HopperTile<kRows, kCols, kStages>::kRingBytes + kWarpgroups * kStagingBytes;
  static_assert(kRows == 64 * kWarpgroups * kParts, "all warpgroups have the same number of rows");
  static_assert(kSharedBytes <= 227 * 1024 - 1024, "a block has 227 KB; 1 KB is for barriers");
};
using WidePair = ShapedTile<128, 256, 4, 2, 2>;
using TallPair = ShapedTile<256, 128, 4, 2, 2>;
using Wide = ShapedTile<128, 256, 4, 2, 1>;
using Middle = ShapedTile<128, 192, 4, 2, 1>;
using Square = ShapedTile<128, 128, 6, 2, 1>;
using Small = ShapedTile<64, 128, 8, 1, 1>;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// A warp is done with a stage, and says so to all blocks that write to it.
template <class T>
__device__ inline void release_stage(std::uint64_t* empty) {
  const int lane = threadIdx.x % 32;
  if constexpr (T::kBlocksOfCluster == 1) {
    if (lane == 0) ptx::mbarrier_arrive(empty);
  } else {
    if (lane < T::kBlocksOfCluster) ptx::mbarrier_arrive_remote(empty, lane);
  }
}

// Barriers ready in all blocks of the cluster, and the kernels before this one at their end.
template <class T>
__device__ inline void prepare_ring(std::uint64_t* full, std::uint64_t* empty, int arrivals) {
  if (threadIdx.x == 0) {
    for (int s = 0; s < T::kStages; ++s) {
      ptx::mbarrier_init(&full[s], 1);
      ptx::mbarrier_init(&empty[s], arrivals);
    }
    ptx::fence_mbarrier_init();
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
}
#endif

template <class T, bool kTransposedB>
__global__ void __launch_bounds__(T::kThreads, 1)
    bf16_gemm_by_shape_kernel(const __grid_constant__ CUtensorMap map_a,
                              const __grid_constant__ CUtensorMap map_b,
                              const __grid_constant__ CUtensorMap map_c, int k, TileOrder tiles) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr int kCluster = T::kBlocksOfCluster;
  static_assert(kCluster == 1 || kCluster == kBlocks, "alone or in pairs");
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  prepare_ring<T>(full, empty, 4 * T::kWarpgroups * kCluster);

  RingPlace<T::kStages> place;
  const int rank = static_cast<int>(ptx::cluster_rank());
  const int first = static_cast<int>(blockIdx.x) / kCluster;
  const int clusters = static_cast<int>(gridDim.x) / kCluster;
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    if constexpr (T::kWarpgroups == 2) ptx::setmaxnreg_dec<kLoadingRegisters>();
    if (threadIdx.x == 0) {
      for (int i = first; i < tiles.count(); i += clusters) {
        const int2 tile = tiles.at(i);
        const int row = (tile.x * kCluster + rank) * T::kRows, col = tile.y * T::kCols;
        for (int p = 0; p < k; p += kStep, place.next()) {
          unsigned char* const stage = ring + place.stage * T::kStageBytes;
          std::uint64_t* const barrier = &full[place.stage];
          wait(&empty[place.stage], place.phase ^ 1);
          ptx::mbarrier_arrive_expect_tx(barrier, T::kStageBytes);
          ptx::tensor_load(stage, &map_a, p, row, barrier);
          if constexpr (kCluster == 1) {
            order_b<kTransposedB, T::kCols>(stage + T::kBytesA, &map_b, p, col, barrier);
          } else {
            order_b_for_all<kTransposedB, T::kCols / kCluster>(stage + T::kBytesA, &map_b, p, col,
                                                               rank, barrier);
          }
        }
      }
    }
    __syncwarp();
  } else {
    if constexpr (T::kWarpgroups == 2) ptx::setmaxnreg_inc<kMultiplyingRegisters>();
    const int first_row = (warpgroup - 1) * 64 * T::kParts;
    unsigned char* const staging = ring + T::kRingBytes + (warpgroup - 1) * kStagingBytes;
    for (int i = first; i < tiles.count(); i += clusters) {
      const int2 tile = tiles.at(i);
      const int row = (tile.x * kCluster + rank) * T::kRows + first_row, col = tile.y * T::kCols;
      float sum[T::kParts][T::kCols / 2];
      int before = 0;  // the stage of the step before
      for (int p = 0; p < k; p += kStep, place.next()) {
        const unsigned char* const stage = ring + place.stage * T::kStageBytes;
        wait(&full[place.stage], place.phase);
        ptx::wgmma_fence();
#pragma unroll
        for (int part = 0; part < T::kParts; ++part) {
          multiply_step<kTransposedB>(sum[part], stage + (first_row + 64 * part) * kRowBytes,
                                      stage + T::kBytesA, p == 0);
        }
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<1>();  // the step before is done, this one under way
        if (p > 0) release_stage<T>(&empty[before]);
        before = place.stage;
      }
      ptx::wgmma_wait_group<0>();
      release_stage<T>(&empty[before]);
#pragma unroll
      for (int part = 0; part < T::kParts; ++part) {
        ptx::fence_registers(sum[part]);
        store_slabs(sum[part], staging, &map_c, row + 64 * part, col, warpgroup);
      }
    }
    if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();
    __syncwarp();
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
#else
  (void)map_a, (void)map_b, (void)map_c, (void)k, (void)tiles;
#endif
}

// Calls visit(tile) with the tile that should take the fewest clocks.
template <class Visit>
void with_tile_by_shape(const Product& product, int sms, Visit visit) {
  const std::int64_t tiles =
      std::int64_t{divide_up(product.m, Wide::kRows)} * divide_up(product.n, Wide::kCols);
  // Pairs of blocks save power. A single round of tiles does not last long enough for that to
  // count.
  const bool pairs = tiles > sms;
  const double wide = clocks_by_shape<Wide>(product, sms);
  const double wide_pair = pairs ? clocks_by_shape<WidePair>(product, sms) : HUGE_VAL;
  const double tall_pair = pairs ? clocks_by_shape<TallPair>(product, sms) : HUGE_VAL;
  const double middle = clocks_by_shape<Middle>(product, sms);
  const double square = clocks_by_shape<Square>(product, sms);
  const double small = clocks_by_shape<Small>(product, sms);
  const double fewest = std::min({wide, wide_pair, tall_pair, middle, square, small});
  if (wide_pair == fewest) return visit(WidePair{});
  if (tall_pair == fewest) return visit(TallPair{});
  if (wide == fewest) return visit(Wide{});
  if (middle == fewest) return visit(Middle{});
  if (square == fewest) return visit(Square{});
  visit(Small{});
}

// The clocks of that tile.
inline double fewest_clocks_by_shape(const Product& product, int sms) {
  double fewest = 0;
  with_tile_by_shape(product, sms,
                     [&](auto tile) { fewest = clocks_by_shape<decltype(tile)>(product, sms); });
  return fewest;
}

template <class T, bool kTransposedB>
void launch_by_shape(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n,
                     int k, cudaStream_t stream) {
  constexpr int kCluster = T::kBlocksOfCluster;
  constexpr auto kKernel = bf16_gemm_by_shape_kernel<T, kTransposedB>;
  const TileOrder tiles = order_in_bands(m, n, kCluster * T::kRows, T::kCols);
  const int most = clusters_at_once<kKernel>(kCluster, T::kThreads, T::kSharedBytes);
  launch_clusters<kKernel>(Start::early, std::min(tiles.count(), most), kCluster, T::kThreads,
                           T::kSharedBytes, stream, map_of_a(a, m, k, T::kRows),
                           map_of_b<kTransposedB>(b, n, k, T::kCols / kCluster), map_of_c(c, m, n),
                           k, tiles);
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9.
template <bool kTransposedB>
void bf16_gemm_by_shape(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                        int n, int k, cudaStream_t stream) {
  if (!fits_copy_engine(a, k, b, kTransposedB ? k : n, c, n)) {
    return bf16_gemm_multistage<kTransposedB>(a, b, c, m, n, k, stream);
  }
  with_tile_by_shape(Product::of<kTransposedB>(m, n, k), multiprocessor_count(), [&](auto tile) {
    launch_by_shape<decltype(tile), kTransposedB>(a, b, c, m, n, k, stream);
  });
}
