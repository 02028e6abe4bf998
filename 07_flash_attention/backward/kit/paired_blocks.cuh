// Two blocks of a cluster that share 128 keys at d = 256: their tiles and what lies in the shared
// memory of each, who feeds them, and dQ of both blocks' keys.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/gradient_tile.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/kit/tma_tiles.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/cluster.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"
#include "common/kit/tensor_map.cuh"

namespace backward {

constexpr int kPairedThreads = 384;

// A block's tile. A warpgroup has all columns of the one sum that is its own, dK or dV.
template <class T>
struct PairedTile : GradientTile<T, 256> {
  static constexpr int kSplit = 1, kCols = 256;
  __host__ __device__ static constexpr int own_col(int) { return 0; }
};
// The cluster's: both blocks go through the steps of its 128 keys.
struct ClusterTile {
  static constexpr int kTileN = 128, kTileM = 64;
};

template <class Tile>
struct PairedShared {
  alignas(1024) unsigned char k[Tile::kKeyBytes];
  alignas(1024) unsigned char v[Tile::kKeyBytes];
  alignas(1024) unsigned char k_other[Tile::kKeyBytes / 2];  // of K of the other block's keys, the
                                                             // columns of dQ that this block has
  alignas(1024) unsigned char ds[2][2][Tile::kDsBytes];      // a stage: own keys, the other block's
  alignas(1024) unsigned char q_tile[2][Tile::kQueryBytes];
  alignas(1024) unsigned char do_tile[1][Tile::kQueryBytes];
  alignas(16) float4 p[Tile::kTileM / 8 * 128];  // four weights of each thread at a time
  alignas(16) float lse2[2][Tile::kTileM], delta[1][Tile::kTileM];
  std::uint64_t q_full[2], q_empty[2], do_full[1], do_empty[1];
  KeyBarrier keys_full, values_full;
  std::uint64_t p_full, p_empty;
  std::uint64_t ds_full[2], ds_empty[2];

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // By one thread. A stage is released by eight warps of each block: both blocks fill it. In the
  // own block each thread of warpgroup 1 releases a stage of dO for itself, in place of its warp.
  __device__ __forceinline__ void init() {
    keys_full.init();
    values_full.init();
    kit::init_stages(q_full, q_empty, 16);
    kit::init_stages(do_full, do_empty, 16 - 4 + 128);
    ptx::mbarrier_init(&p_full, 128);
    ptx::mbarrier_init(&p_empty, 128);
    for (int stage = 0; stage < 2; ++stage) {
      ptx::mbarrier_init(&ds_full[stage], 4);  // and the bytes of the other block's dS
      ptx::mbarrier_init(&ds_empty[stage], 16);
    }
    ptx::fence_mbarrier_init();
  }
#endif
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// region dq
// dq = dS K for 64 columns: first this block's keys, then the other's.
template <class Tile>
__device__ __forceinline__ void issue_cluster_dq(float (&dq)[32],
                                                 const unsigned char (&ds)[2][Tile::kDsBytes],
                                                 const unsigned char* k,
                                                 const unsigned char* k_other) {
  ptx::fence_registers(dq);
  ptx::wgmma_fence();
#pragma unroll
  for (int block = 0; block < 2; ++block) {
    const std::uint64_t a = ptx::descriptor_128B(ds[block], 0, 1024);
    const std::uint64_t b = ptx::descriptor_128B(block == 0 ? k : k_other, 0, 1024);
#pragma unroll
    for (int j = 0; j < Tile::kTileN / 16; ++j) {
      ptx::wgmma<typename Tile::Element, 1, 1>(dq, ptx::advance(a, j * 16 * 128),
                                               ptx::advance(b, j * 16 * 128), block + j > 0);
    }
  }
  ptx::wgmma_commit_group();
}
// endregion

// A warp has no more use for a stage: it tells both blocks, as both fill it.
__device__ __forceinline__ void release_in_both(std::uint64_t* empty) {
  const int lane = threadIdx.x % 32;
  if (lane < 2) ptx::mbarrier_arrive_remote(empty, lane);
}

// The same where each thread has read from the stage with loads of its own, as of a row's D: then
// each tells its own block, where that is refilled, and one of a warp the other block.
__device__ __forceinline__ void release_in_both_by_thread(std::uint64_t* empty, int rank) {
  ptx::mbarrier_arrive(empty);
  if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive_remote(empty, 1 - rank);
}

// All that the thread does that feeds a block: K and V, and for each step half of Q and of dO, to
// both blocks. So a stage is refilled once both have released it. K comes ahead of Q, which S waits
// for too; V and the other block's K are needed later, and come behind.
template <class Tile, class Order>
__device__ __forceinline__ void feed_pair(PairedShared<Tile>& shared, const GradientMaps& maps,
                                          const RowStats& rows, const Order& steps, int rank) {
  // Boxes are two slabs, half a tile.
  constexpr int kSlab = Tile::kKeySlab;
  const int kv_head = static_cast<int>(steps.kv_head);
  const int own_key = steps.first_key + Tile::kTileN * rank;
  const int other_key = steps.first_key + Tile::kTileN * (1 - rank);
  const auto load_half = [&](unsigned char* to, const CUtensorMap& map, int slab, int key,
                             std::uint64_t* full) {
    ptx::tensor_load(to, &map, 0, key, slab, kv_head, full);
  };
  // region send
  const auto send = [&](unsigned char* to, float* stat, std::uint64_t* full, const CUtensorMap& map,
                        const float* stats, std::int64_t head, int row) {
    constexpr int kStatBytes = Tile::kTileM * sizeof(float);
    ptx::mbarrier_arrive_expect_tx(full, Tile::kQueryBytes + kStatBytes);
    ptx::tensor_load_multicast(to + 2 * rank * kSlab, &map, 0, row, 2 * rank,
                               static_cast<int>(head), full, 3);
    ptx::cp_async_bulk(stat, stats + head * rows.pitch + row, kStatBytes, full);
  };
  // endregion
  // The stages, as their consumers release them.
  kit::PipelineState<2> at;
  kit::PipelineState<1> at_do;
  for (int step = 0; step < steps.count(); ++step) {
    const std::int64_t head = steps.head(step);
    const int row = steps.first_row(step);
    if (step == 0) {
      std::uint64_t* full = &shared.keys_full.full;
      ptx::mbarrier_arrive_expect_tx(full, Tile::kKeyBytes);
      load_half(shared.k, maps.k, 0, own_key, full);
      load_half(shared.k + 2 * kSlab, maps.k, 2, own_key, full);
    }
    kit::wait_empty(shared.q_empty, at);
    send(shared.q_tile[at.stage], shared.lse2[at.stage], &shared.q_full[at.stage], maps.q,
         rows.lse2, head, row);
    if (step == 0) {
      std::uint64_t* full = &shared.values_full.full;
      ptx::mbarrier_arrive_expect_tx(full, Tile::kKeyBytes + Tile::kKeyBytes / 2);
      load_half(shared.v, maps.v, 0, own_key, full);
      load_half(shared.v + 2 * kSlab, maps.v, 2, own_key, full);
      load_half(shared.k_other, maps.k, 2 * rank, other_key, full);
    }
    kit::wait_empty(shared.do_empty, at_do);
    send(shared.do_tile[at_do.stage], shared.delta[at_do.stage], &shared.do_full[at_do.stage],
         maps.d_o, rows.delta, head, row);
    at.next();
    at_do.next();
  }
}
#endif

// Launches `kernel` with a cluster for each 128 keys of each K/V head.
template <class... Parameters, class... Args>
void launch_pairs(void (*kernel)(Parameters...), int shared, const Shape& shape,
                  cudaStream_t stream, const Args&... args) {
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {2, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim =
      static_cast<unsigned>(2 * shape.all_kv_heads() * TileRange<ClusterTile>::key_tiles(shape));
  config.blockDim = kPairedThreads;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, args...));
}

// Boxes of 128 columns: half a tile.
template <class Tile>
GradientMaps half_tile_maps(const Arguments<typename Tile::Element>& args) {
  const Shape& shape = args.shape;
  const auto map = [](const auto* base, std::uint64_t heads, std::uint64_t n) {
    constexpr int kD = Tile::kD, kSlabs = kD / 64;
    return kit::tensor_map(base, {64, n, kSlabs, heads}, {kD * 2, 128, n * kD * 2},
                           {64, 64, kSlabs / 2, 1});
  };
  return {map(args.q, shape.all_heads(), shape.n_q), map(args.k, shape.all_kv_heads(), shape.n_k),
          map(args.v, shape.all_kv_heads(), shape.n_k),
          map(args.d_o, shape.all_heads(), shape.n_q)};
}

}  // namespace backward
