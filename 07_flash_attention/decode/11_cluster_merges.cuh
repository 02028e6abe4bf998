// cluster_merges: a cluster of eight blocks has a work tile, and merges its parts in shared
// memory (sm_90).
//
// The blocks of a cluster run at the same time and write into each other's shared memory: no part
// goes to global memory, a barrier of the cluster replaces the ticket, and rows are dealt to all
// eight. Few blocks run, so each has eight warps. What is still wrong: with many K/V heads `tensor`
// is faster.
#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/decode/kit/chunks.cuh"
#include "07_flash_attention/decode/kit/clusters.cuh"
#include "07_flash_attention/decode/kit/key_ring.cuh"
#include "07_flash_attention/decode/kit/parts.cuh"
#include "07_flash_attention/decode/kit/tensor_rows.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/cluster.cuh"
#include "common/kit/ptx/mma.cuh"

namespace decode {

template <int kD>
struct ClusterShared {
  static constexpr int kW = kD == 256 ? 4 : 8;  // as many warps as there is room for rings
  RingShared<kD, kTensorRows, kW> warps;
  // What the blocks of the cluster have sent of the rows that this one merges: row after row, block
  // after block.
  OfLane<float, kD> o[kTensorRows][32];
  float lse2[kTensorRows];
};

template <class T, int kD>
__global__ void __launch_bounds__(32 * ClusterShared<kD>::kW, 1)
    cluster_merges_kernel(Tensors<T> t, Shape shape, Chunks chunks) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  constexpr int kW = ClusterShared<kD>::kW;
  ptx::cluster_arrive();  // waited for before anything is sent: a block that runs has its memory
  extern __shared__ __align__(128) uint4 dynamic_chunks[];
  auto& shared = *reinterpret_cast<ClusterShared<kD>*>(dynamic_chunks);
  const auto cluster = cooperative_groups::this_cluster();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::int64_t at = blockIdx.x / kClusterBlocks;  // of the work tiles
  const auto part = part_of(shape.work_tile(at, kTensorRows), at, chunks, 0, shape.n);

  // The first copies are asked for before the queries.
  TensorRows<T, kD> rows;
  const std::int64_t first = part.work.kv_head * shape.n;
  const Lookups lookups(shared.warps.rings, part, [first](int key) { return first + key; });
  const auto add = [&](const auto& stage, int seen) { rows.add(stage.k, stage.v, seen); };
  const auto start = [&] {
    rows.start(t.q + part.work.first_row * kD, part.work.count, shape.scale());
  };
  attend(shared.warps.rings, lookups, t, add, start, ptx::createpolicy_evict_first());
  rows.store_part(part.work.count, shared.warps.parts.o[warp], shared.warps.parts.lse2[warp]);
  ptx::cluster_wait();
  __syncthreads();

  // region merge
  // The block's part of a row is sent to the block that merges it. Rows go round the blocks of the
  // cluster first, then round a block's warps.
  const int rank = static_cast<int>(cluster.block_rank());
  for (int row = warp; row < part.work.count; row += kW) {
    const auto merged = merge_warps(shared.warps.parts, row);
    const int to = row % kClusterBlocks, place = row - to + rank;
    *cluster.map_shared_rank(&shared.o[place][lane], to) = merged.o;
    if (lane == 0) *cluster.map_shared_rank(&shared.lse2[place], to) = merged.lse2;
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();  // all parts are there, and nobody reaches into another block any more

  for (int row = rank + kClusterBlocks * warp; row < part.work.count; row += kClusterBlocks * kW) {
    const int place = row - rank;
    const auto o_of = [&](int block) { return shared.o[place + block]->x; };
    const auto lse2_of = [&](int block) { return shared.lse2[place + block]; };
    store_result(t, part.work.first_row + row, merge_parts<kD>(kClusterBlocks, o_of, lse2_of));
  }
  // endregion
#endif
}

// Device pointers, aligned to 16 bytes. Throws Skip where no cluster fits.
template <class T>
void cluster_merges(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    using Shared = ClusterShared<decltype(head_dim)::value>;
    const auto kernel = cluster_merges_kernel<T, head_dim>;
    constexpr int kShared = sizeof(Shared);
    kit::allow_shared(kernel, kShared);

    // Eight chunks of each cache, of which the last ones may have no keys.
    const int keys =
        kit::divide_up(kit::divide_up(shape.n, kClusterBlocks), kStageKeys) * kStageKeys;
    const Chunks chunks{keys, kClusterBlocks, nullptr, nullptr, nullptr};
    const auto blocks = static_cast<unsigned>(shape.work_tiles(kTensorRows) * kClusterBlocks);
    cudaLaunchAttribute cluster;
    const auto config =
        cluster_config(cluster, kClusterBlocks, blocks, 32 * Shared::kW, kShared, stream);
    static const int kAtOnce = kit::clusters_at_once(kernel, config);
    kit::require_clusters(kAtOnce, kClusterBlocks);
    CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, t, shape, chunks));
  });
}

}  // namespace decode
