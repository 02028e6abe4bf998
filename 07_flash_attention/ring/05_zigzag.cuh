// zigzag: each device owns one chunk from the front of the sequence and one from its end.
//
// Chunks r and 2 size - 1 - r of 2 size: the early chunk sees few keys, the late one many, and the
// sum is the same for every rank, in every step. A step is now a part of the shard at hand, or a
// part of the queries: a window of rows. What is still wrong: mma.sync, which reaches at most two
// thirds of what Hopper's tensor cores can do.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/kit/mma_attention_tile.cuh"
#include "07_flash_attention/ring/kit/mma_queries.cuh"
#include "07_flash_attention/ring/kit/ring_steps.cuh"
#include "07_flash_attention/ring/kit/sharding.hpp"
#include "07_flash_attention/ring/kit/state.cuh"
#include "07_flash_attention/ring/kit/team.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace ring_attention {

// own_rows, key_rows: of a head in the own shard, and in the one at hand.
template <class T, int kD, bool kIsDiagonal>
__global__ void __launch_bounds__(attention::MmaAttentionTile<kD>::kThreads)
    zigzag_kernel(Shard<T> own, const T* k, const T* v, int own_rows, int key_rows, Work work,
                  bool is_first, float scale) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  using Queries = MmaQueries<T, kD>;
  extern __shared__ uint4 chunks[];
  const int tiles = kit::divide_up(work.queries, Queries::Tile::kTileM);
  const int head = blockIdx.x / tiles;
  const int tile = tiles - 1 - static_cast<int>(blockIdx.x) % tiles;  // the longest ones first
  const std::int64_t first_row = std::int64_t{head} * own_rows + work.first_query;
  const RowsInMemory<T, kD> memory{own.state + first_row * kD, own.lse + first_row,
                                   own.o + first_row * kD, work.queries, work.complete};

  Queries queries(chunks, tile * Queries::Tile::kTileM, scale);
  queries.load(own.q + first_row * kD, work.queries);
  if (!is_first) memory.resume(queries);
  const std::int64_t of_head = std::int64_t{head} * key_rows * kD;
  queries.template attend<kIsDiagonal>(k + of_head, v + of_head, work.queries, work.keys);
  memory.leave(queries);
#endif
}

// A step: the rows of `own` that `work` says. own_rows, key_rows: as the kernel's.
template <class T>
void launch_zigzag(const Shard<T>& own, const T* k, const T* v, int heads, int d, int own_rows,
                   int key_rows, const Work& work, bool is_first, cudaStream_t stream) {
  with_head_dim(d, work.is_diagonal, [&](auto head_dim, auto is_diagonal) {
    using Tile = attention::MmaAttentionTile<decltype(head_dim)::value>;
    const auto kernel = zigzag_kernel<T, head_dim, is_diagonal>;
    const int blocks = heads * kit::divide_up(work.queries, Tile::kTileM);
    kit::allow_shared(kernel, Tile::shared_bytes(2));
    kernel<<<blocks, Tile::kThreads, Tile::shared_bytes(2), stream>>>(own, k, v, own_rows, key_rows,
                                                                      work, is_first, scale_of(d));
    CUDA_CHECK(cudaGetLastError());
  });
}

// o and lse of every rank. In the streams of the team, whose shards are either way.
template <class T>
void ring_attention_zigzag(const Team<T>& team) {
  const Sharding& sharding = team.sharding;
  for_each_step(team, [&](int rank, int step, const T* k, const T* v, cudaStream_t stream) {
    const Work work = sharding.work(rank, step);
    if (!work.any()) return;
    launch_zigzag(team.shards[rank], k, v, team.heads, team.d, sharding.rows(rank),
                  sharding.rows(sharding.owner(rank, step)), work, step == 0, stream);
  });
}

}  // namespace ring_attention
