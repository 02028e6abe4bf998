// ring: keys and values go round, one shard at a time, while the shard before is computed with.
//
// Each device talks to the next one only, and has room for two shards, however many devices there
// are. A kernel does one step: it begins with what the step before has left of its queries, and
// leaves O and the log-sum-exp of all keys so far. What is still wrong: under a causal mask rank 0
// sees one shard, and the last rank all of them: the others wait for it.
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

// k, v: of the shard at hand, `keys` rows in each head.
template <class T, int kD, bool kIsDiagonal>
__global__ void __launch_bounds__(attention::MmaAttentionTile<kD>::kThreads)
    ring_kernel(Shard<T> own, const T* k, const T* v, int rows, int keys, bool is_first,
                bool is_last, float scale) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  using Queries = MmaQueries<T, kD>;
  extern __shared__ uint4 chunks[];
  const int tiles = kit::divide_up(rows, Queries::Tile::kTileM);
  const int head = blockIdx.x / tiles;
  const int tile = tiles - 1 - static_cast<int>(blockIdx.x) % tiles;  // the longest ones first
  const std::int64_t first_row = std::int64_t{head} * rows;
  const RowsInMemory<T, kD> memory{own.state + first_row * kD, own.lse + first_row,
                                   own.o + first_row * kD, rows, is_last ? rows : 0};

  Queries queries(chunks, tile * Queries::Tile::kTileM, scale);
  queries.load(own.q + first_row * kD, rows);
  if (!is_first) memory.resume(queries);
  const std::int64_t of_head = std::int64_t{head} * keys * kD;
  queries.template attend<kIsDiagonal>(k + of_head, v + of_head, rows, keys);
  memory.leave(queries);
#endif
}

// o and lse of every rank. In the streams of the team, whose shards are contiguous.
template <class T>
void ring_attention_ring(const Team<T>& team) {
  for_each_step(team, [&](int rank, int step, const T* k, const T* v, cudaStream_t stream) {
    const Work work = team.sharding.work(rank, step);
    if (!work.any()) return;
    with_head_dim(team.d, work.is_diagonal, [&](auto head_dim, auto is_diagonal) {
      using Tile = attention::MmaAttentionTile<decltype(head_dim)::value>;
      const auto kernel = ring_kernel<T, head_dim, is_diagonal>;
      const int blocks = team.heads * kit::divide_up(work.queries, Tile::kTileM);
      kit::allow_shared(kernel, Tile::shared_bytes(2));
      kernel<<<blocks, Tile::kThreads, Tile::shared_bytes(2), stream>>>(
          team.shards[rank], k, v, work.queries, work.keys, step == 0, work.complete > 0,
          scale_of(team.d));
      CUDA_CHECK(cudaGetLastError());
    });
  });
}

}  // namespace ring_attention
