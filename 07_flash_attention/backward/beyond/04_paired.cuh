// paired: at d = 256 two blocks share 128 keys, and nothing is computed twice.
//
// The rungs before have 64 keys a block there: both warpgroups compute all scores (seven products,
// not five), and for each operation twice as much is added to dQ as at d = 128. Here one warpgroup
// has S, the weights and dV, the other dP, dS and dK. Two blocks of 64 keys are a cluster. Each
// sends its dS to the other, and multiplies half of dQ's columns for all 128 keys: half of the
// additions. Of Q and dO each has TMA bring one half, to both. What is still wrong: there is room
// for one stage of dO only.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_flash_attention/backward/kit/dq_accum.cuh"
#include "07_flash_attention/backward/kit/gradient_tile.cuh"
#include "07_flash_attention/backward/kit/paired_blocks.cuh"
#include "07_flash_attention/backward/kit/paired_products.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/kit/tma_tiles.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/cluster.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"
#include "common/kit/toolkit.cuh"

namespace backward {

// Steps from the first queries to the last, one head after the other.
struct FromFirst : TileRange<ClusterTile> {
  __device__ __forceinline__ FromFirst(const Shape& shape, int cluster)
      : TileRange(TileRange::of(shape, cluster, shape.causal ? 16 : 0)) {}

  struct Walk {
    const FromFirst& steps;
    int tile = 0;

    __device__ __forceinline__ explicit Walk(const FromFirst& steps) : steps(steps) {}
    __device__ __forceinline__ int row() const {
      return (steps.first_tile + tile) * ClusterTile::kTileM;
    }
    __device__ __forceinline__ int next(int head_tiles) {
      if (++tile < steps.tiles) return 1;
      tile = 0;
      return head_tiles - steps.tiles + 1;
    }
  };
};

// Whoever has dQ, adds it.
struct NoTurn {
  __device__ __forceinline__ void wait() {}
  __device__ __forceinline__ void pass() {}
};

template <class Tile>
__global__ void __launch_bounds__(kPairedThreads, 1)
    paired_kernel(const __grid_constant__ GradientMaps maps,
                  Arguments<typename Tile::Element> args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const auto& shape = args.shape;
  extern __shared__ __align__(1024) unsigned char aligned_shared_memory[];
  auto& shared = *reinterpret_cast<PairedShared<Tile>*>(aligned_shared_memory);
  // Barriers must stand before anybody arrives at one, the other block and TMA included.
  if (threadIdx.x == 0) shared.init();
  ptx::cluster_arrive();
  ptx::cluster_wait();

  const int rank = static_cast<int>(ptx::cluster_rank());
  const FromFirst steps(shape, blockIdx.x / 2);
  const int warpgroup = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);

  // The third warpgroup: one thread has the tiles brought.
  if (warpgroup == 2) {
    ptx::setmaxnreg_dec<24>();
    if (threadIdx.x == 256) feed_pair(shared, maps, args.rows, steps, rank);
    __syncwarp();
    // A block may not end while the other still writes to its memory or arrives at its barriers.
    ptx::cluster_arrive();
    ptx::cluster_wait();
    return;
  }

  // Two warpgroups multiply. dV stays in the registers of the one, dK in those of the other.
  ptx::setmaxnreg_inc<240>();
  const int key = steps.first_key + Tile::kTileN * rank + Warpgroup<Tile>::row();
  PairedDq<Tile, FromFirst, NoTurn> dq(shared, args.rows, steps, rank, warpgroup, {});
  if (warpgroup == 0) {
    weights_and_dv(shared, args, steps, key, dq);
  } else {
    score_gradients_and_dk(shared, args, steps, rank, key, dq);
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
#endif
}

// Device pointers, aligned to 16 bytes. scratch: row_stats_and_dq_scratch(shape) floats.
template <class T, int kD>
void paired(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  if constexpr (kD != 256) {
    throw kit::Skip("for d = 256: at 64 and 128 a single block holds 128 keys");
  } else {
    using Tile = PairedTile<T>;
    constexpr int kShared = sizeof(PairedShared<Tile>);
    const auto kernel = paired_kernel<Tile>;
    kit::allow_shared(kernel, kShared);
    const Arguments<T> args = prepare(shape, t, scratch, true, stream);
    launch_pairs(kernel, kShared, shape, stream, half_tile_maps<Tile>(args), args);
    finish_dq_parts<GradientTile<T, kD>>(args, stream);
  }
}

}  // namespace backward
