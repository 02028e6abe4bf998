// Stream-K: how the work of the last waves is cut into equal shares for all clusters.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/bf16/kit/cluster.cuh"
#include "04_matmul/bf16/kit/cluster_tile.cuh"
#include "04_matmul/bf16/kit/hopper_tile.cuh"
#include "04_matmul/bf16/kit/scheduler.cuh"
#include "common/kit/launch.cuh"

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

}  // namespace matmul::bf16
