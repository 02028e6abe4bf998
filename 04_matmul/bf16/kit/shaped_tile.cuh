// Tiles of several shapes for one kernel, and what their clusters do at the start and with a stage.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/gemm_tile.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/cluster.cuh"
#include "common/kit/ptx/grid.cuh"
#include "common/kit/ptx/tma.cuh"

namespace matmul::bf16 {

// A GemmTile and who works on it: kWarpgroups multiply, 64 kParts rows each. kClusterBlocks
// tiles, one below the other, are computed by a cluster.
template <int kTileM, int kTileN, int kStages, int kConsumers, int kClusterBlocks>
struct ShapedTile : GemmTile<kTileM, kTileN, kStages> {
  static constexpr int kWarpgroups = kConsumers, kCluster = kClusterBlocks;
  static constexpr int kDown = kCluster, kAcross = 1;  // tiles of a cluster
  static constexpr int kDepth = 1;                     // k tiles of a stage
  static constexpr int kThreads = 128 * (1 + kWarpgroups);
  static constexpr int kParts = kTileM / (64 * kWarpgroups);
  static constexpr int kSharedBytes =
      GemmTile<kTileM, kTileN, kStages>::kRingBytes + kWarpgroups * kStagingBytes;
  static_assert(kTileM == 64 * kWarpgroups * kParts, "all warpgroups have the same number of rows");
  static_assert(kSharedBytes <= 227 * 1024 - 1024, "a block has 227 KB; 1 KB is for barriers");
  static_assert(kCluster == 1 || kCluster == 2, "alone or in pairs");

  // Where warpgroup 1, 2, ... stages its rows of C: behind the ring.
  __device__ static unsigned char* staging(unsigned char* ring, int warpgroup) {
    return ring + GemmTile<kTileM, kTileN, kStages>::kRingBytes + (warpgroup - 1) * kStagingBytes;
  }
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
  if constexpr (T::kCluster == 1) {
    if (lane == 0) ptx::mbarrier_arrive(empty);
  } else {
    if (lane < T::kCluster) ptx::mbarrier_arrive_remote(empty, lane);
  }
}

// Barriers ready in all blocks of the cluster, and the kernels before this one at their end.
template <int kStages>
__device__ inline void start_cluster(std::uint64_t (&full)[kStages],
                                     std::uint64_t (&empty)[kStages], int releases) {
  if (threadIdx.x == 0) {
    kit::init_stages(full, empty, releases);
    ptx::fence_mbarrier_init();
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
}
#endif

}  // namespace matmul::bf16
