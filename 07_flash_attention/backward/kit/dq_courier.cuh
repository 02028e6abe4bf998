// How dQ in fp32 leaves a block, in large pieces.
//
// It has an order of its own in memory. A warpgroup's part of a tile, 64 queries and Tile::kDqCols
// columns, is one piece of kDqPart floats without gaps; in it, four registers of a thread lie side
// by side, and after them those of the next thread. So a warp writes 512 bytes in a row, wherever
// its lanes' elements belong. The last kernel puts them where they belong.
//
// A warpgroup leaves its part in shared memory, and a thread of the feeding warpgroup, the courier,
// has TMA add it to what others have added. Where d is 256 there is no room left in shared memory:
// there the warpgroup adds its registers itself, four at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_fragments.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_facts.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/mbarrier.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/toolkit.cuh"

namespace backward {

template <class Tile>
struct DqCourier {
  static constexpr bool kByTma = Tile::kD < 256;
  alignas(128) float part[2][kByTma ? Tile::kDqPart : 1];  // of each warpgroup
  std::uint64_t full[2], empty[2];

  // Parts count through the tiles of all heads: two a tile. This is warpgroup w's of the tile that
  // begins at `first_row` of a head; and where it lies.
  static __device__ __forceinline__ std::int64_t part_number(const RowFacts& rows,
                                                             std::int64_t head, int first_row,
                                                             int w) {
    static_assert(2 * Tile::kDqPart == Tile::kQueries * Tile::kD);
    return (head * rows.pitch + first_row) / Tile::kQueries * 2 + w;
  }
  static __device__ __forceinline__ float* part_of(const RowFacts& rows, std::int64_t head,
                                                   int first_row, int w) {
    return rows.dq_sum + part_number(rows, head, first_row, w) * Tile::kDqPart;
  }

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // By one thread. All threads of a warpgroup fill a part.
  __device__ __forceinline__ void init() { kit::init_stages(empty, full, 128); }

  // Warpgroup w hands over its part of the tile; `phase` is that of its steps: 0, 1, 0, ...
  __device__ __forceinline__ void hand_over(const float (&dq)[Tile::kDqCols / 2],
                                            const RowFacts& rows, std::int64_t head, int first_row,
                                            int w, std::uint32_t phase) {
    const int thread = threadIdx.x % 128;
    if constexpr (kByTma) {
      kit::wait(&empty[w], phase ^ 1);  // TMA has read the part of the step before
      auto* to = reinterpret_cast<float4*>(part[w]) + thread;
#pragma unroll
      for (int i = 0; i < Tile::kDqCols / 2; i += 4) {
        to[i / 4 * 128] = make_float4(dq[i], dq[i + 1], dq[i + 2], dq[i + 3]);
      }
      ptx::fence_proxy_async();
      ptx::mbarrier_arrive(&full[w]);
    } else {
      auto* to = reinterpret_cast<float4*>(part_of(rows, head, first_row, w)) + thread;
#pragma unroll
      for (int i = 0; i < Tile::kDqCols / 2; i += 4) {
        kit::add_four(to + i / 4 * 128, make_float4(dq[i], dq[i + 1], dq[i + 2], dq[i + 3]));
      }
    }
  }

  // region take
  // The courier of warpgroup w, one thread: takes a part that is full to `to`.
  __device__ __forceinline__ void take(float* to, int w, std::uint32_t phase) {
    kit::wait(&full[w], phase);
    ptx::cp_reduce_async_bulk_add(to, part[w], sizeof(part[w]));
    ptx::bulk_commit_group();
    ptx::bulk_wait_group_read<0>();
    ptx::mbarrier_arrive(&empty[w]);
  }
  // endregion

  // All that a courier does, one thread: takes the part of each step, and waits until the last one
  // has been added. role: 1 or 2, the courier of warpgroup role - 1.
  __device__ __forceinline__ void run(const RowFacts& rows, const Steps<Tile>& steps, int role) {
    for (int step = 0; step < steps.count(); ++step) {
      float* to = part_of(rows, steps.head(step), steps.first_row(step), role - 1);
      take(to, role - 1, step % 2);
    }
    ptx::bulk_wait_group<0>();
  }
#endif
};

// A block a part.
template <class Tile>
__global__ void __launch_bounds__(kRowThreads)
    finish_dq_blocks_kernel(RowFacts rows, typename Tile::Element* dq, int n_q, float scale) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const int tiles = rows.pitch / Tile::kQueries, w = blockIdx.x % 2;  // tiles: of a head
  const std::int64_t head = blockIdx.x / 2 / tiles;
  const int first_row = static_cast<int>(blockIdx.x / 2 % tiles) * Tile::kQueries;
  const float* part = DqCourier<Tile>::part_of(rows, head, first_row, w);
  // The fragments of the warpgroup's four warps alternate; a warp here has four of one of them.
#pragma unroll
  for (int i = threadIdx.x / 32; i < Tile::kDqPart / 512; i += kRowThreads / 32) {
    const int warp = i % 4, group = i / 4 * 4;
    const int row = first_row + Tile::dq_row(w) + 16 * warp, col = Tile::dq_col(w) + 8 * group;
    store_fragments<Tile::kD>(dq + head * n_q * Tile::kD, part + (4 * group + warp) * 128, 4 * 128,
                              row, col, n_q, scale);
  }
#endif
}

// dQ = dq_sum / sqrt(d)
template <class Tile>
void finish_dq_blocks(const Shape& shape, const Tensors<typename Tile::Element>& t,
                      const RowFacts& rows, cudaStream_t stream) {
  const auto parts = shape.all_heads() * rows.pitch / Tile::kQueries * 2;
  finish_dq_blocks_kernel<Tile><<<static_cast<unsigned>(parts), kRowThreads, 0, stream>>>(
      rows, t.dq, shape.n_q, shape.scale());
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace backward
