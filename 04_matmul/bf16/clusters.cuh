// How the Hopper rungs launch clusters: groups of blocks that the hardware runs at the same time,
// so near each other that they can write to each other's shared memory.
#pragma once

#include <cuda_runtime.h>

#include "04_matmul/sgemm/tiles.cuh"
#include "common/cuda_check.cuh"

// How many clusters of `blocks` blocks of `kernel` the device runs at once: they must fit into
// parts of the chip, so it may be fewer than SMs / blocks. Allows `kernel` so much shared memory,
// too.
template <class Kernel>
int ask_clusters_at_once(Kernel kernel, int blocks, int threads, int shared_bytes) {
  allow_shared(kernel, shared_bytes);
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = &cluster;
  config.numAttrs = 1;
  int most = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveClusters(&most, reinterpret_cast<const void*>(kernel), &config));
  return most;
}

// The same, asked once: kKernel is always launched with the same numbers.
template <auto kKernel>
int clusters_at_once(int blocks, int threads, int shared_bytes) {
  static const int kMost = ask_clusters_at_once(kKernel, blocks, threads, shared_bytes);
  return kMost;
}

enum class Start {
  after,  // when the kernel before has ended
  early,  // when it allows; kKernel itself waits before it touches what the one before may write
};

// Launches `clusters` clusters of `blocks` blocks. A block alone is a cluster without being told
// so, and starts sooner.
template <auto kKernel, class... Arguments>
void launch_clusters(Start start, int clusters, int blocks, int threads, int shared_bytes,
                     cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchAttribute attributes[2];
  cudaLaunchConfig_t config = {};
  config.gridDim = clusters * blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  if (blocks > 1) {
    cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
  }
  if (start == Start::early) {
    cudaLaunchAttribute& early = attributes[config.numAttrs++];
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
  }
  CUDA_CHECK(cudaLaunchKernelEx(&config, kKernel, arguments...));
}
