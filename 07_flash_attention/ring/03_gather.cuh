// gather: every device gets all keys and values that its queries see, and then computes.
//
// A block goes through the shards one after the other; what it knows of its queries stays in
// registers. What is still wrong: nothing is computed while the shards come, every device needs
// room for all of them, and under a causal mask the last rank has far more to do than the first.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/kit/mma_attention_tile.cuh"
#include "07_flash_attention/ring/kit/mma_queries.cuh"
#include "07_flash_attention/ring/kit/sharding.hpp"
#include "07_flash_attention/ring/kit/team.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace ring_attention {

// The shards with keys that a rank sees, in the order of the sequence.
template <class T>
struct Gathered {
  const T* kv[kMostDevices];
  int rows[kMostDevices];
  int count = 0;
};

// If kIsCausal the last shard is the rank's own.
template <class T, int kD, bool kIsCausal>
__global__ void __launch_bounds__(attention::MmaAttentionTile<kD>::kThreads)
    gather_kernel(Shard<T> own, Gathered<T> shards, int heads, int rows, float scale) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  using Queries = MmaQueries<T, kD>;
  extern __shared__ uint4 chunks[];
  const int tiles = kit::divide_up(rows, Queries::Tile::kTileM);
  const int head = blockIdx.x / tiles;
  const int tile = tiles - 1 - static_cast<int>(blockIdx.x) % tiles;  // the longest ones first
  const std::int64_t first_row = std::int64_t{head} * rows;

  Queries queries(chunks, tile * Queries::Tile::kTileM, scale);
  queries.load(own.q + first_row * kD, rows);
  for (int s = 0; s < shards.count; ++s) {
    const std::int64_t of_all_heads = std::int64_t{heads} * shards.rows[s] * kD;
    const T* const k = shards.kv[s] + std::int64_t{head} * shards.rows[s] * kD;
    if (kIsCausal && s == shards.count - 1) {
      queries.template attend<true>(k, k + of_all_heads, rows, rows);
    } else {
      queries.template attend<false>(k, k + of_all_heads, rows, shards.rows[s]);
    }
  }
  queries.store(own.o + first_row * kD, own.lse + first_row, rows);
#endif
}

// o and lse of every rank. In the streams of the team, whose shards are contiguous.
template <class T>
void ring_attention_gather(const Team<T>& team) {
  const int size = team.size();
  const Sharding& sharding = team.sharding;
  const auto needs = [&](int rank, int owner) { return !sharding.is_causal || owner < rank; };
  const auto place = [&](int rank, int owner) { return team.inbox(rank, owner - (owner > rank)); };

  // What was asked of a rank before may still use its inbox.
  record(team.devices);
  for (int owner = 0; owner < size; ++owner) {
    for (int rank = 0; rank < size; ++rank) wait(team.copies.streams[owner], team.devices, rank);
  }
  // Every rank sends to all others, not all to the same one at once.
  for (int turn = 1; turn < size; ++turn) {
    for (int owner = 0; owner < size; ++owner) {
      const int rank = (owner + turn) % size;
      const std::int64_t count = 2 * team.keys(owner);
      if (!needs(rank, owner) || count == 0) continue;
      CUDA_CHECK(cudaMemcpyAsync(place(rank, owner), team.shards[owner].kv, count * sizeof(T),
                                 cudaMemcpyDefault, team.copies.streams[owner]));
    }
  }
  record(team.copies);

  for_each_rank(team.devices, [&](int rank, cudaStream_t stream) {
    for (int owner = 0; owner < size; ++owner) wait(stream, team.copies, owner);
    const int rows = sharding.rows(rank);
    if (rows == 0) return;
    Gathered<T> shards;
    for (int owner = 0; owner < size; ++owner) {
      if (owner != rank && !needs(rank, owner)) continue;
      shards.kv[shards.count] = owner == rank ? team.shards[rank].kv : place(rank, owner);
      shards.rows[shards.count++] = sharding.rows(owner);
    }
    with_head_dim(team.d, sharding.is_causal, [&](auto head_dim, auto is_causal) {
      using Tile = attention::MmaAttentionTile<decltype(head_dim)::value>;
      const auto kernel = gather_kernel<T, head_dim, is_causal>;
      const int blocks = team.heads * kit::divide_up(rows, Tile::kTileM);
      kit::allow_shared(kernel, Tile::shared_bytes(2));
      kernel<<<blocks, Tile::kThreads, Tile::shared_bytes(2), stream>>>(
          team.shards[rank], shards, team.heads, rows, scale_of(team.d));
      CUDA_CHECK(cudaGetLastError());
    });
  });
}

}  // namespace ring_attention
