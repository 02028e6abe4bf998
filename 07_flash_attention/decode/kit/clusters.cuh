// Clusters of blocks: how large they are to be, how many fit, and how they are launched.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>

#include "common/kit/launch.cuh"

namespace decode {

constexpr int kClusterBlocks = 8;  // the most that every device with clusters has

// `cluster` has to live until the launch. A block alone is a cluster without being told so, and
// starts sooner.
inline cudaLaunchConfig_t cluster_config(cudaLaunchAttribute& cluster, int size, dim3 grid,
                                         int threads, int shared, cudaStream_t stream) {
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(size), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = size > 1 ? 1 : 0;
  return config;
}

// [size]: how many clusters of 1, 2, 4 or 8 blocks the device holds at once, if a block has an SM
// to itself. They must fit into parts of the chip, so not every SM counts.
using ClustersAtOnce = std::array<int, kClusterBlocks + 1>;

template <class Kernel>
ClustersAtOnce clusters_at_once(Kernel kernel, int threads, int shared) {
  ClustersAtOnce most{};
  most[1] = kit::multiprocessor_count();
  for (int size = 2; size <= kClusterBlocks; size *= 2) {
    cudaLaunchAttribute cluster;
    const auto config = cluster_config(cluster, size, size, threads, shared, nullptr);
    most[size] = kit::clusters_at_once(kernel, config);
  }
  return most;
}

// How many blocks a cluster is to have, at most `most`: as many as fit without a cluster taking
// more work tiles in turn than a block alone would.
inline int choose_cluster(std::int64_t work_tiles, int most, const ClustersAtOnce& at_once) {
  const auto turns = [&](int size) { return kit::divide_up(work_tiles, at_once[size]); };
  int size = 1;
  while (2 * size <= most && at_once[2 * size] > 0 && turns(2 * size) <= turns(1)) size *= 2;
  return size;
}

}  // namespace decode
