// Clusters: groups of blocks that the hardware runs at the same time, so near each other that they
// can write to each other's shared memory; how they share loads, and how they are launched.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/gemm_tile.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/tma.cuh"

namespace matmul {

constexpr int kClusterSize = 2;  // blocks

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// As issue_b, but only part `rank` of the tile, kCols columns, and to all blocks of the cluster.
template <bool kTransposedB, int kCols>
__device__ inline void issue_b_multicast(unsigned char* to, const CUtensorMap* map_b, int p,
                                         int col, int rank, std::uint64_t* barrier) {
  constexpr std::uint16_t kAll = (1 << kClusterSize) - 1;
  const int first = rank * kCols;
  unsigned char* const part = to + first * kRowBytes;
  if constexpr (kTransposedB) {
    ptx::tensor_load_multicast(part, map_b, p, col + first, barrier, kAll);
  } else {
#pragma unroll
    for (int s = 0; s < kCols / 64; ++s) {
      ptx::tensor_load_multicast(part + s * kSlabBytes, map_b, col + first + 64 * s, p, barrier,
                                 kAll);
    }
  }
}
#endif

// How many clusters of `size` blocks of `kernel` the device runs at once, maybe none: they must fit
// into parts of the chip. Allows `kernel` so much shared memory, too.
template <class Kernel>
int query_clusters_at_once(Kernel kernel, int size, int threads, int shared_bytes) {
  kit::allow_shared(kernel, shared_bytes);
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(size), 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = size;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = &cluster;
  config.numAttrs = 1;
  return kit::clusters_at_once(kernel, config);
}

// The same, asked once: kKernel is always launched with the same numbers. Throws Skip if none fits.
template <auto kKernel>
int clusters_at_once(int size, int threads, int shared_bytes) {
  static const int kMost = query_clusters_at_once(kKernel, size, threads, shared_bytes);
  kit::require_clusters(kMost, size);
  return kMost;
}

enum class Start {
  in_order,      // when the kernel before has ended
  programmatic,  // when it allows; kKernel waits before it touches what the one before may write
};

// Launches `clusters` clusters of `size` blocks. A block alone is a cluster without being told so,
// and starts sooner.
template <auto kKernel, class... Arguments>
void launch_clusters(Start start, int clusters, int size, int threads, int shared_bytes,
                     cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchAttribute attributes[2];
  cudaLaunchConfig_t config = {};
  config.gridDim = clusters * size;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  if (size > 1) {
    cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(size), 1, 1};
  }
  if (start == Start::programmatic) {
    cudaLaunchAttribute& programmatic = attributes[config.numAttrs++];
    programmatic.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    programmatic.val.programmaticStreamSerializationAllowed = 1;
  }
  CUDA_CHECK(cudaLaunchKernelEx(&config, kKernel, arguments...));
}

}  // namespace matmul
