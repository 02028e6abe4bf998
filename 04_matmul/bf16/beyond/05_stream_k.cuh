// stream_k: all SMs work to the end (Stream-K).
//
// 5000 x 5000 elements are 400 pairs of tiles for 66 clusters: six waves, and a seventh for four.
// Here the work of the last wave, and of one more, is cut into equal shares, wherever in a pair the
// cuts fall. But a sum may be rounded only once: of a tile's two partial sums the one that is
// complete first is left in memory, in fp32, and the other cluster adds it to its own. Nobody
// waits. What is still wrong: the exchange takes longer than a nearly full wave is idle.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cuda/atomic>

#include <algorithm>
#include <cstdint>

#include "04_matmul/bf16/kit/cluster_tile.cuh"
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

// Who computes what. The first `shared` pairs of tiles are counted in k tiles, those of one pair
// after those of the other, and each cluster has an equal share of them: the end of one pair, the
// beginning of another, perhaps a whole one between. There are at least as many as clusters, so a
// share is not shorter than a pair, and no pair is cut twice. The rest goes wave by wave.
struct StreamKPlan {
  TileSchedule pairs;
  int shared, clusters;
  int k_tiles;  // of a pair

  // The first k tile of a cluster's share. It ends where the next one begins.
  __host__ __device__ std::int64_t begin(int cluster) const {
    return std::int64_t{shared} * k_tiles * cluster / clusters;
  }
};

// Where there are no more pairs than clusters, or whole waves of them, nothing is shared.
inline StreamKPlan plan_stream_k(int m, int n, int k, int clusters) {
  const TileSchedule pairs =
      grouped_schedule(m, n, kClusterSize * WholeTile::kTileM, WholeTile::kTileN);
  const int left = pairs.count() % clusters;
  const bool is_shared = pairs.count() > clusters && left > 0;
  return {pairs, is_shared ? clusters + left : 0, clusters, kit::divide_up(k, kTileK)};
}

// Calls visit(pair, first k tile, one after the last) for each work unit of a cluster.
template <class Visit>
__device__ __forceinline__ void each_work_unit(const StreamKPlan& plan, int cluster, Visit visit) {
  const std::int64_t last = plan.begin(cluster + 1);
  for (std::int64_t k_tile = plan.begin(cluster); k_tile < last;) {
    const int pair = static_cast<int>(k_tile / plan.k_tiles);
    const int begin = static_cast<int>(k_tile % plan.k_tiles);
    const int end = static_cast<int>(min(std::int64_t{plan.k_tiles}, begin + last - k_tile));
    visit(pair, begin, end);
    k_tile += end - begin;
  }
  for (int pair = plan.shared + cluster; pair < plan.pairs.count(); pair += plan.clusters) {
    visit(pair, 0, plan.k_tiles);
  }
}

// Where the partials of a launch meet, for each of 64 launches side by side: of each warpgroup of a
// shared pair, how many are complete. 0 before and after a launch.
constexpr int kMostClusters = 72;  // a full GH100 has 144 SMs
constexpr int kWarpgroups = 4;     // that multiply, in a cluster
using Arrivals = int[2 * kMostClusters][kWarpgroups];
static __device__ Arrivals arrivals[64];

// And where their sums are left: of each cluster the end of a pair and the beginning of another.
constexpr int kPartialFloat4 = 64 * WholeTile::kTileN / 4;  // of a warpgroup
constexpr std::int64_t kPartialBytes =
    std::int64_t{kMostClusters} * 2 * kWarpgroups * kPartialFloat4 * sizeof(float4);

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// For a warpgroup that has one of two partials: if the other's sums are there, adds them and
// returns true. If not, leaves its own. Which of the two comes first makes no difference: x + y is
// y + x. Device-scope order: what the others of this warpgroup wrote comes before thread 0's count
// (a barrier, then release), what they read comes after it (acquire, then a barrier).
__device__ __forceinline__ bool add_other_partial(float (&acc)[128], float4* own,
                                                  const float4* other, int& complete,
                                                  int& is_other_there) {
  const int thread = threadIdx.x % 128, warpgroup = threadIdx.x / 128;
  const cuda::atomic_ref<int, cuda::thread_scope_device> count(complete);
  if (thread == 0) is_other_there = count.load(cuda::std::memory_order_acquire);
  ptx::named_barrier_sync(warpgroup, 128);

  // This one is first: it leaves its sums, and looks once more.
  if (!is_other_there) {
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      own[128 * i + thread] =
          make_float4(acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3]);
    }
    ptx::named_barrier_sync(warpgroup, 128);
    if (thread == 0) is_other_there = count.fetch_add(1, cuda::std::memory_order_acq_rel);
    ptx::named_barrier_sync(warpgroup, 128);
    if (!is_other_there) return false;  // otherwise it came in the meantime
  }

  // This one is second: it adds what the other one left.
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    const float4 v = other[128 * i + thread];
    acc[4 * i] += v.x;
    acc[4 * i + 1] += v.y;
    acc[4 * i + 2] += v.z;
    acc[4 * i + 3] += v.w;
  }
  if (thread == 0) complete = 0;
  return true;
}
#endif

template <bool kTransposedB>
__global__ void __launch_bounds__(WidePair::kThreads, 1)
    bf16_gemm_stream_k_kernel(const __grid_constant__ CUtensorMap map_a,
                              const __grid_constant__ CUtensorMap map_b,
                              const __grid_constant__ CUtensorMap map_c, int m, StreamKPlan plan,
                              float4* partials, Arrivals* arrived) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using T = WidePair;
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  __shared__ int is_other_there[2][2];  // for each warpgroup that multiplies and each partial
  start_cluster(full, empty, 4 * T::kWarpgroups * kClusterSize);

  kit::PipelineState<T::kStages> state;
  const int rank = static_cast<int>(ptx::cluster_rank());
  const int cluster = static_cast<int>(blockIdx.x) / kClusterSize;
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    // The producer: the k tiles of this cluster's work units, one unit after the other.
    ptx::setmaxnreg_dec<T::kProducerRegisters>();
    if (threadIdx.x == 0) {
      each_work_unit(plan, cluster, [&](int pair, int begin, int end) {
        const int2 at = plan.pairs.at(pair);
        issue_k_tiles<WholeTile, kTransposedB>(
            &map_a, &map_b, (at.x * kClusterSize + rank) * T::kTileM, at.y * T::kTileN,
            begin * kTileK, end * kTileK, ring, full, empty, state);
      });
    }
    __syncwarp();
  } else {
    // The consumers: of a tile that two clusters share, the one that is done second stores it.
    ptx::setmaxnreg_inc<T::kConsumerRegisters>();
    unsigned char* const staging = T::staging(ring, warpgroup);
    const int first_row = (warpgroup - 1) * 64, of_cluster = 2 * rank + warpgroup - 1;
    const auto place_of = [&](int c, bool is_front) {
      return partials + ((2 * c + is_front) * kWarpgroups + of_cluster) * kPartialFloat4;
    };
    each_work_unit(plan, cluster, [&](int pair, int begin, int end) {
      const int2 at = plan.pairs.at(pair);
      const int row = (at.x * kClusterSize + rank) * T::kTileM + first_row;
      if (row >= m) return skip_k_tiles(begin * kTileK, end * kTileK, full, empty, state);
      float acc[1][T::kTileN / 2];
      multiply_k_tiles<WholeTile, kTransposedB>(acc, first_row, begin * kTileK, end * kTileK, ring,
                                                full, empty, state);

      // Only a part of k: the other part is a neighbour's.
      if (end - begin < plan.k_tiles) {  // the rest is the next cluster's, or the one's before
        const bool is_front = begin == 0;
        const int neighbour = is_front ? cluster + 1 : cluster - 1;
        if (!add_other_partial(acc[0], place_of(cluster, is_front), place_of(neighbour, !is_front),
                               (*arrived)[pair][of_cluster],
                               is_other_there[warpgroup - 1][is_front])) {
          return;
        }
      }
      store_by_tma(acc[0], staging, &map_c, row, at.y * T::kTileN, warpgroup);
    });
    if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();
    __syncwarp();
  }

  // A block may not end while the other still writes to its memory.
  ptx::cluster_arrive();
  ptx::cluster_wait();
#else
  (void)map_a, (void)map_b, (void)map_c, (void)m, (void)plan, (void)partials, (void)arrived;
#endif
}

static inline Arrivals* next_arrivals() {
  static kit::WorkspaceRing slots(arrivals);
  return slots.next();
}

template <bool kTransposedB>
int stream_k_clusters() {
  const int most = clusters_at_once<bf16_gemm_stream_k_kernel<kTransposedB>>(
      kClusterSize, WidePair::kThreads, WidePair::kSharedBytes);
  return std::min(most, kMostClusters);
}

template <bool kTransposedB>
void launch_stream_k(const Operands& x, int m, int n, int k, float4* partials,
                     cudaStream_t stream) {
  using T = WidePair;
  const int clusters = stream_k_clusters<kTransposedB>();
  launch_clusters<bf16_gemm_stream_k_kernel<kTransposedB>>(
      Start::programmatic, clusters, kClusterSize, T::kThreads, T::kSharedBytes, stream,
      map_of_rows(x.a.data, m, k, T::kTileM, x.a.pitch),
      map_of_b<kTransposedB>(x.b.data, n, k, 64, x.b.pitch),
      map_of_rows(x.c.data, m, n, 64, x.c.pitch), m, plan_stream_k(m, n, k, clusters), partials,
      next_arrivals());
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. Throws Skip if TMA cannot take the matrices. partials: kPartialBytes,
// this launch's until it has ended.
template <bool kTransposedB>
void bf16_gemm_stream_k(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                        int n, int k, float4* partials, cudaStream_t stream) {
  require_vector_rows<kTransposedB>(a, b, c, n, k);
  launch_stream_k<kTransposedB>(dense<kTransposedB>(a, b, c, n, k), m, n, k, partials, stream);
}

}  // namespace matmul::bf16
