// Rung 17, shared_round: all SMs work to the end.
//
// 5000 x 5000 elements are 400 pairs of tiles for 66 clusters: six rounds, and a seventh for four.
// As at the end of the fp32 ladder, the work of the last round, and of one more, is cut into equal
// shares, wherever in a pair the cuts fall. But a sum may be rounded only once: of a tile's two
// pieces the one complete first leaves its sums, in fp32, in memory, and the other one adds them.
// Nobody waits. What is still wrong: the exchange takes longer than a nearly full round is idle.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cuda/atomic>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "04_matmul/bf16/16_narrow_edge.cuh"
#include "04_matmul/bf16/clusters.cuh"
#include "04_matmul/bf16/hopper.cuh"
#include "04_matmul/bf16/pair_shares.cuh"
#include "04_matmul/bf16/pair_tiles.cuh"
#include "04_matmul/sgemm/tiles.cuh"
#include "common/launch_slots.cuh"

// Where the pieces of a launch meet, for each of 64 launches side by side: of each warpgroup of a
// shared pair, how many are complete. 0 before and after a launch.
constexpr int kMostClusters = 72;  // a full GH100 has 144 SMs
constexpr int kWarpgroups = 4;     // that multiply, in a cluster
using Arrivals = int[2 * kMostClusters][kWarpgroups];
static __device__ Arrivals arrivals[64];

// And where their sums are left: of each cluster the end of a pair and the beginning of another.
constexpr int kFloat4OfPiece = 64 * WholeTile::kCols / 4;  // of a warpgroup
constexpr std::int64_t kBytesOfPieces =
    std::int64_t{kMostClusters} * 2 * kWarpgroups * kFloat4OfPiece * sizeof(float4);

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// For a warpgroup that has one of two pieces: if the other's sums are there, adds them and returns
// true. If not, leaves its own. Which of the two comes first makes no difference: x + y is y + x.
// Device-scope order: what the others of this warpgroup wrote comes before thread 0's count (a
// barrier, then release), what they read comes after it (acquire, then a barrier).
__device__ __forceinline__ bool add_other_piece(float (&sum)[128], float4* own, const float4* other,
                                                int& complete, int& is_other_there) {
  const int thread = threadIdx.x % 128, warpgroup = threadIdx.x / 128;
  const cuda::atomic_ref<int, cuda::thread_scope_device> count(complete);
  if (thread == 0) is_other_there = count.load(cuda::std::memory_order_acquire);
  ptx::named_barrier_sync(warpgroup, 128);
  if (!is_other_there) {
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      own[128 * i + thread] =
          make_float4(sum[4 * i], sum[4 * i + 1], sum[4 * i + 2], sum[4 * i + 3]);
    }
    ptx::named_barrier_sync(warpgroup, 128);
    if (thread == 0) is_other_there = count.fetch_add(1, cuda::std::memory_order_acq_rel);
    ptx::named_barrier_sync(warpgroup, 128);
    if (!is_other_there) return false;  // otherwise it came in the meantime
  }
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    const float4 v = other[128 * i + thread];
    sum[4 * i] += v.x;
    sum[4 * i + 1] += v.y;
    sum[4 * i + 2] += v.z;
    sum[4 * i + 3] += v.w;
  }
  if (thread == 0) complete = 0;
  return true;
}
#endif

template <bool kTransposedB>
__global__ void __launch_bounds__(WidePair::kThreads, 1)
    bf16_gemm_shared_round_kernel(const __grid_constant__ CUtensorMap map_a,
                                  const __grid_constant__ CUtensorMap map_b,
                                  const __grid_constant__ CUtensorMap map_c, int m,
                                  PairShares shares, float4* pieces, Arrivals* arrived) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using T = WidePair;
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  __shared__ int is_other_there[2][2];  // for each warpgroup that multiplies and each piece
  prepare_ring<T>(full, empty, 4 * T::kWarpgroups * kBlocks);

  RingPlace<T::kStages> place;
  const int rank = static_cast<int>(ptx::cluster_rank());
  const int cluster = static_cast<int>(blockIdx.x) / kBlocks;
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<kLoadingRegisters>();
    if (threadIdx.x == 0) {
      each_piece(shares, cluster, [&](int pair, int begin, int end) {
        const int2 at = shares.pairs.at(pair);
        order_steps<WholeTile, kTransposedB>(&map_a, &map_b, (at.x * kBlocks + rank) * T::kRows,
                                             at.y * T::kCols, begin * kStep, end * kStep, ring,
                                             full, empty, place);
      });
    }
    __syncwarp();
  } else {
    ptx::setmaxnreg_inc<kMultiplyingRegisters>();
    unsigned char* const staging = ring + T::kRingBytes + (warpgroup - 1) * kStagingBytes;
    const int first_row = (warpgroup - 1) * 64, of_cluster = 2 * rank + warpgroup - 1;
    const auto place_of = [&](int c, bool is_front) {
      return pieces + ((2 * c + is_front) * kWarpgroups + of_cluster) * kFloat4OfPiece;
    };
    each_piece(shares, cluster, [&](int pair, int begin, int end) {
      const int2 at = shares.pairs.at(pair);
      const int row = (at.x * kBlocks + rank) * T::kRows + first_row;
      if (row >= m) return skip_steps(begin * kStep, end * kStep, full, empty, place);
      float sum[1][T::kCols / 2];
      multiply_steps<WholeTile, kTransposedB>(sum, first_row, begin * kStep, end * kStep, ring,
                                              full, empty, place);
      if (end - begin < shares.steps) {  // the rest is the next cluster's, or the one's before
        const bool is_front = begin == 0;
        const int neighbour = is_front ? cluster + 1 : cluster - 1;
        if (!add_other_piece(sum[0], place_of(cluster, is_front), place_of(neighbour, !is_front),
                             (*arrived)[pair][of_cluster],
                             is_other_there[warpgroup - 1][is_front])) {
          return;
        }
      }
      store_slabs(sum[0], staging, &map_c, row, at.y * T::kCols, warpgroup);
    });
    if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();
    __syncwarp();
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
#else
  (void)map_a, (void)map_b, (void)map_c, (void)m, (void)shares, (void)pieces, (void)arrived;
#endif
}

static inline Arrivals* next_arrivals() {
  static common::LaunchSlots slots(arrivals);
  return slots.next();
}

template <bool kTransposedB>
int clusters_that_share() {
  const int most = clusters_at_once<bf16_gemm_shared_round_kernel<kTransposedB>>(
      kBlocks, WidePair::kThreads, WidePair::kSharedBytes);
  return std::min(most, kMostClusters);
}

// As bf16_gemm_shared_round, for more pairs of tiles than clusters.
template <bool kTransposedB>
void launch_shared_round(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                         int n, int k, float4* pieces, cudaStream_t stream) {
  using T = WidePair;
  const int clusters = clusters_that_share<kTransposedB>();
  launch_clusters<bf16_gemm_shared_round_kernel<kTransposedB>>(
      Start::early, clusters, kBlocks, T::kThreads, T::kSharedBytes, stream,
      map_of_a(a, m, k, T::kRows), map_of_b<kTransposedB>(b, n, k, 64), map_of_c(c, m, n), m,
      share_pairs(m, n, k, clusters), pieces, next_arrivals());
}

// How many clocks that takes, by the model of rung 14; infinity where there is nothing to share.
// Clusters that are at different steps of k find less of what they need in the L2 cache, and
// writing and reading pieces takes time: both were measured on an H200.
inline double clocks_of_shared_round(const Product& product, int clusters) {
  const PairShares shares = share_pairs(static_cast<int>(product.m), static_cast<int>(product.n),
                                        static_cast<int>(product.k), clusters);
  if (shares.pairs.count() <= clusters || shares.shared == 0) return HUGE_VAL;
  const double pair = clocks_of_tile(clocks_of_step<WidePair>(product),
                                     WholeTile::kRows * WholeTile::kCols, product.k);
  const int rounds = (shares.pairs.count() - shares.shared) / clusters;
  const double share = 1.0 * shares.shared / clusters;  // in pairs
  const double apart = std::min(share - 1, 2 - share);  // neighbours, in pairs
  return kClocksOfLaunch + (rounds + (1.1 + 0.25 * apart) * share) * pair + 16000;
}

// Whether that takes fewer clocks than the rungs before.
inline bool is_round_shared(const Product& product, int sms, int clusters) {
  return clocks_of_shared_round(product, clusters) < plan_edge(product, sms).clocks;
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. pieces: kBytesOfPieces, this launch's until it has ended.
template <bool kTransposedB>
void bf16_gemm_shared_round(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                            int n, int k, float4* pieces, cudaStream_t stream) {
  if (fits_copy_engine(a, k, b, kTransposedB ? k : n, c, n) &&
      is_round_shared(Product::of<kTransposedB>(m, n, k), multiprocessor_count(),
                      clusters_that_share<kTransposedB>())) {
    return launch_shared_round<kTransposedB>(a, b, c, m, n, k, pieces, stream);
  }
  bf16_gemm_narrow_edge<kTransposedB>(a, b, c, m, n, k, stream);
}
