// The tiles of C for one persistent kernel, where rows belong to ranks.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/scheduler.cuh"
#include "04_matmul/sharded/kit/shards.hpp"
#include "04_matmul/sharded/kit/team.cuh"
#include "common/kit/launch.cuh"

namespace matmul::sharded {

using PairTile = GemmTile<128, 256, 4>;  // of a block; a cluster has two, one below the other
constexpr int kPairShared = PairTile::kRingBytes + 2 * kStagingBytes;  // bytes of a block
static_assert(kPairRows == 2 * PairTile::kTileM, "chunks are whole pairs of tiles");

// A pair of tiles: which rank's rows, and where among them, in pairs.
struct ShardPair {
  int shard;
  int2 at;
};

// All pairs, the rows of each rank tiled by themselves, so that no tile has rows of two: first the
// rows of rank `first`, then those of the ranks after it, round to the one before it.
struct ShardSchedule {
  TileSchedule of[kMostDevices];
  int shards, first;

  __host__ __device__ int count() const {
    int pairs = 0;
    for (int shard = 0; shard < shards; ++shard) pairs += of[shard].count();
    return pairs;
  }
  // i < count().
  __device__ ShardPair at(int i) const {
    int shard = first;
    while (i >= of[shard].count()) {
      i -= of[shard].count();
      shard = shard + 1 == shards ? 0 : shard + 1;
    }
    return {shard, of[shard].at(i)};
  }
};

// Of a product with n columns. Groups for the L2 cache are as high as a chunk at most: a group
// waits for one.
inline ShardSchedule shard_schedule(const Shards& rows, std::int64_t n, int first) {
  ShardSchedule schedule = {};
  schedule.shards = rows.parts;
  schedule.first = first;
  for (int shard = 0; shard < rows.parts; ++shard) {
    TileSchedule& of = schedule.of[shard];
    of = grouped_schedule(static_cast<int>(rows.size(shard)), static_cast<int>(n), kPairRows,
                          PairTile::kTileN);
    const auto chunk = static_cast<int>(Chunks{rows.size(shard), rows.parts}.most() / kPairRows);
    of.group_rows = std::min(of.group_rows, chunk);
  }
  return schedule;
}

// Flags of one sender for the rows of one owner: one for each half tile, 64 rows by 256 columns.
inline std::int64_t scatter_flags(std::int64_t rows, std::int64_t n) {
  return std::int64_t{kit::divide_up(rows, kPairRows)} * kit::divide_up(n, PairTile::kTileN) *
         kClusterSize * 2;
}

}  // namespace matmul::sharded
