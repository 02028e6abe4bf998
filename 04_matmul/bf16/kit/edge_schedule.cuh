// An order of tiles of two kinds: whole ones, and others at one edge of C that come last.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/scheduler.cuh"

namespace matmul::bf16 {

// The pairs of tiles, one below the other, in the order in which they are begun: whole ones, then
// those at the right edge.
struct EdgeSchedule {
  TileSchedule whole;
  int at_edge;

  __host__ __device__ int count() const { return whole.count() + at_edge; }
};

// The pair that cluster number `cluster` of `clusters` computes in a wave. If there is no such
// pair, there is none in later waves either.
__host__ __device__ inline int pair_of(int cluster, int clusters, int wave) {
  return wave * clusters + (wave % 2 == 0 ? cluster : clusters - 1 - cluster);
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Calls visit(form, row, col) for each tile that block `rank` of a cluster computes, whole ones
// first.
template <class Whole, class Edge, class Visit>
__device__ __forceinline__ void each_tile(const EdgeSchedule& pairs, int rank, int cluster,
                                          int clusters, Visit visit) {
  int wave = 0;
  for (int i; (i = pair_of(cluster, clusters, wave)) < pairs.whole.count(); ++wave) {
    const int2 pair = pairs.whole.at(i);
    visit(Whole{}, (pair.x * kClusterSize + rank) * Whole::kTileM, pair.y * Whole::kTileN);
  }
  for (int i; (i = pair_of(cluster, clusters, wave)) < pairs.count(); ++wave) {
    visit(Edge{}, ((i - pairs.whole.count()) * kClusterSize + rank) * Edge::kTileM,
          pairs.whole.across * Whole::kTileN);
  }
}
#endif

// How many cycles the busiest cluster needs: `start` before its first pair, `whole` for each pair
// of whole tiles, `edge` for each at the edge.
inline double cycles_of_busiest(const EdgeSchedule& pairs, int clusters, double start, double whole,
                                double edge) {
  int wave = pairs.whole.count() / clusters;  // up to here all clusters have whole tiles
  std::vector<double> cycles(clusters, start + wave * whole);
  for (; wave * clusters < pairs.count(); ++wave) {
    for (int cluster = 0; cluster < clusters; ++cluster) {
      const int pair = pair_of(cluster, clusters, wave);
      if (pair < pairs.count()) cycles[cluster] += pair < pairs.whole.count() ? whole : edge;
    }
  }
  return *std::max_element(cycles.begin(), cycles.end());
}

}  // namespace matmul::bf16
