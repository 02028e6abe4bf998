// Rung 17: how pairs of tiles are shared out to clusters.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/bf16/10_persistent.cuh"
#include "04_matmul/bf16/pair_tiles.cuh"
#include "04_matmul/sgemm/tiles.cuh"

// Who computes what. The first `shared` pairs of tiles are counted in steps of k, those of one pair
// after those of the other, and each cluster has an equal share of them: the end of one pair, the
// beginning of another, perhaps a whole one between. There are at least as many as clusters, so a
// share is not shorter than a pair, and no pair is cut twice. The rest goes round by round.
struct PairShares {
  TileOrder pairs;
  int shared, clusters;
  int steps;  // of a pair

  // The first step of a cluster's share. It ends where the next one begins.
  __host__ __device__ std::int64_t begin(int cluster) const {
    return std::int64_t{shared} * steps * cluster / clusters;
  }
};

// Has a meaning only where there are more pairs than clusters.
inline PairShares share_pairs(int m, int n, int k, int clusters) {
  const TileOrder pairs = order_in_bands(m, n, kBlocks * WholeTile::kRows, WholeTile::kCols);
  const int left = pairs.count() % clusters;
  return {pairs, left == 0 ? 0 : clusters + left, clusters, divide_up(k, kStep)};
}

// Calls visit(pair, first step, one after the last step) for all that a cluster has to compute.
template <class Visit>
__device__ __forceinline__ void each_piece(const PairShares& shares, int cluster, Visit visit) {
  const std::int64_t last = shares.begin(cluster + 1);
  for (std::int64_t step = shares.begin(cluster); step < last;) {
    const int pair = static_cast<int>(step / shares.steps);
    const int begin = static_cast<int>(step % shares.steps);
    const int end = static_cast<int>(min(std::int64_t{shares.steps}, begin + last - step));
    visit(pair, begin, end);
    step += end - begin;
  }
  for (int pair = shares.shared + cluster; pair < shares.pairs.count(); pair += shares.clusters) {
    visit(pair, 0, shares.steps);
  }
}
