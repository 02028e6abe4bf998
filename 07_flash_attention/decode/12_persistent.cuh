// persistent: clusters that stay, and whose rings never run empty (sm_90).
//
// In `tensor` and `cluster_merges` a work tile begins with an empty ring and ends with a merge, and
// meanwhile its blocks ask for nothing. Here a cluster takes several, one after the other: while
// its warps work on the last keys of one, merge and store, the first keys of the next are in
// flight. So parts stand beside the rings and no longer take their place: 226 KB, a block per SM. A
// cluster has as many blocks as keep the SMs at work: one with many work tiles, eight with few.
// What is still wrong: a server's caches are not in one piece, nor its sequences of one length.

#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "07_flash_attention/decode/kit/clusters.cuh"
#include "07_flash_attention/decode/kit/key_ring.cuh"
#include "07_flash_attention/decode/kit/parts.cuh"
#include "07_flash_attention/decode/kit/tensor_rows.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"

namespace decode {

// Of a block that has an SM to itself.
template <int kD>
struct alignas(128) PersistentShared {
  static constexpr int kW = kD == 256 ? 4 : 8, kStages = kD == 256 ? 3 : 384 / kD;  // 192 KB
  Stage<kD> rings[kW][kStages];
  WarpParts<kD, kTensorRows / 2, kW> parts;  // of half of the rows: there is no room for all
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Half of a work tile's rows: the warps leave their parts, the block merges these and then, with
// the others of its cluster, theirs. By all threads of the cluster.
template <int kHalf, class T, int kD, int kW>
__device__ void finish_rows(WarpParts<kD, kTensorRows / 2, kW>& parts, TensorRows<T, kD>& rows,
                            const WorkTile& work, const Tensors<T>& t) {
  const auto cluster = cooperative_groups::this_cluster();
  const int blocks = static_cast<int>(gridDim.x), rank = static_cast<int>(blockIdx.x);
  const int warp = threadIdx.x / 32, first = kHalf * kTensorRows / 2;
  const int count = min(kTensorRows / 2, work.count - first);

  // The warps leave their parts and merge them. If the block is alone, that is the result.
  rows.store_half(kHalf, parts.o[warp], parts.lse2[warp]);
  __syncthreads();
  for (int row = warp; row < count; row += kW) {
    const auto merged = merge_warps(parts, row);
    if (blocks == 1) {
      store_result(t, work.first_row + first + row, merged);
    } else {
      parts.replace(row, merged);
    }
  }

  if (blocks == 1) {
    __syncthreads();  // the next parts may take their place
    return;
  }

  // Several have parts, which lie where those of their first warps lay.
  cluster.sync();
  for (int row = rank + blocks * warp; row < count; row += blocks * kW) {
    const auto o_of = [&](int block) { return cluster.map_shared_rank(parts.o[0][row], block); };
    const auto lse2_of = [&](int block) {
      return *cluster.map_shared_rank(&parts.lse2[0][row], block);
    };
    store_result(t, work.first_row + first + row, merge_parts<kD>(blocks, o_of, lse2_of));
  }
  cluster.sync();
}
#endif

// Grid: (blocks of a cluster, clusters). keys: of each work tile, for a block.
template <class T, int kD>
__global__ void __launch_bounds__(32 * PersistentShared<kD>::kW, 1)
    persistent_kernel(Tensors<T> t, Shape shape, int tiles_each, int keys) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  constexpr int kW = PersistentShared<kD>::kW, kStages = PersistentShared<kD>::kStages;
  extern __shared__ __align__(128) uint4 dynamic_chunks[];
  auto& shared = *reinterpret_cast<PersistentShared<kD>*>(dynamic_chunks);
  const int warp = threadIdx.x / 32;
  auto& ring = shared.rings[warp];

  const int first_work = static_cast<int>(blockIdx.y) * tiles_each;
  const int end_work =
      min(first_work + tiles_each, static_cast<int>(shape.work_tiles(kTensorRows)));
  const int begin = static_cast<int>(blockIdx.x) * keys, end = min(shape.n, begin + keys);
  const int first_key = begin + warp * kStageKeys;

  // region ring
  // What is issued next: a key of a work tile. It runs ahead of what is worked on, across work
  // tiles.
  const std::uint64_t policy = ptx::createpolicy_evict_first();
  int next_work = begin < end ? first_work : end_work, next_key = first_key, next_stage = 0;
  const auto issue = [&] {
    if (next_work < end_work) {
      const std::int64_t first =
          shape.work_tile(next_work, kTensorRows).kv_head * shape.n + next_key;
      const int left = end - next_key;
      fill(
          ring[next_stage], t, [&](int key) { return key < left ? first + key : -1; }, policy);
      next_stage = next_stage + 1 == kStages ? 0 : next_stage + 1;
      next_key += kW * kStageKeys;
      if (next_key - first_key >= end - begin) {
        next_key = first_key;
        ++next_work;
      }
    }
    ptx::cp_async_commit();
  };
  for (int stage = 0; stage < kStages - 1; ++stage) issue();
  // endregion

  int stage = 0;
  for (int at = first_work; at < end_work; ++at) {
    const WorkTile work = shape.work_tile(at, kTensorRows);
    TensorRows<T, kD> rows;
    rows.start(t.q + work.first_row * kD, work.count, shape.scale());
    // All warps take as many steps: in the last one some may have no keys.
    for (int key = first_key; key - first_key < end - begin; key += kW * kStageKeys) {
      ptx::cp_async_wait<kStages - 2>();
      __syncwarp();  // all lanes' copies are there, and nobody reads the stage before any more
      issue();
      rows.add(ring[stage].k, ring[stage].v, end - key);
      stage = stage + 1 == kStages ? 0 : stage + 1;
    }
    finish_rows<0>(shared.parts, rows, work, t);
    if (work.count > kTensorRows / 2) finish_rows<1>(shared.parts, rows, work, t);
  }
#endif
}

// Device pointers, aligned to 16 bytes.
template <class T>
void persistent(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    using Shared = PersistentShared<decltype(head_dim)::value>;
    const auto kernel = persistent_kernel<T, head_dim>;
    constexpr int kShared = sizeof(Shared), kBlock = 32 * Shared::kW;
    kit::allow_shared(kernel, kShared);
    static const ClustersAtOnce kAtOnce = clusters_at_once(kernel, kBlock, kShared);

    // Every block has keys for all of its warps, if there are so many.
    const std::int64_t work_tiles = shape.work_tiles(kTensorRows);
    const int most = std::min(kClusterBlocks, kit::divide_up(shape.n, Shared::kW * kStageKeys));
    const int size = choose_cluster(work_tiles, most, kAtOnce);
    const int keys = kit::divide_up(kit::divide_up(shape.n, size), kStageKeys) * kStageKeys;
    // As few clusters as take no longer than all that fit would.
    const int tiles_each = kit::divide_up(work_tiles, kAtOnce[size]);
    const dim3 grid(size, kit::divide_up(work_tiles, tiles_each));
    cudaLaunchAttribute cluster;
    const auto config = cluster_config(cluster, size, grid, kBlock, kShared, stream);
    CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, t, shape, tiles_each, keys));
  });
}

}  // namespace decode
