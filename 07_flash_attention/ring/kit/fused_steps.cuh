// Steps of the ring, some of them two at a time: what a kernel has to do then, who sends what
// meanwhile, and what waits for what.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/kit/tile_scheduler.cuh"
#include "07_flash_attention/ring/kit/arrivals.cuh"
#include "07_flash_attention/ring/kit/ring_steps.cuh"
#include "07_flash_attention/ring/kit/sharding.hpp"
#include "07_flash_attention/ring/kit/team.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace ring_attention {

// One step, or two. `queries`, `keys`, is_diagonal and `complete` as of Work; of the queries those
// from `split` on meet the first `second_keys` keys of the second shard, too.
struct FusedWork {
  int first_query, queries, keys, split, second_keys;
  bool is_diagonal;
  int complete;

  bool any() const { return queries > 0 && (keys > 0 || second_keys > 0 || complete > 0); }
  // Heads whose tiles are begun in turns, the longest ones first, if some are longer than others.
  // Their keys and values should fit into the L2 cache.
  int heads_at_a_time(int heads, int d) const {
    if (!is_diagonal && split == 0) return 1;
    constexpr std::int64_t kCacheBytes = 32 << 20;
    const std::int64_t of_head =
        4 * std::max(std::int64_t{keys} + second_keys, std::int64_t{1}) * d;
    return static_cast<int>(std::clamp<std::int64_t>(kCacheBytes / of_head, 1, heads));
  }
};

// How many steps begin together at `step`: the first two, and the last two.
inline int steps_at_once(int step, int size) {
  return step + 1 < size && (step == 0 || step == size - 2) ? 2 : 1;
}

// Of a rank in `count` steps from `step` on. The queries of the second one are the last ones of the
// first, or all of them.
inline FusedWork fused_work(const Sharding& sharding, int rank, int step, int count) {
  const Work first = sharding.work(rank, step);
  FusedWork work = {first.first_query, first.queries, first.keys, 0, 0,
                    first.is_diagonal, first.complete};
  if (count == 1) return work;
  const Work second = sharding.work(rank, step + 1);
  if (!second.any()) return work;
  work.split = second.first_query - first.first_query;
  work.second_keys = second.keys;
  if (second.complete > 0) work.complete = work.split + second.complete;
  return work;
}

// A tile of queries: rows first_query to `end`, and how many tiles of keys it meets in each shard.
struct FusedTile {
  int head, first_query, end, first, second;
};
// region locate
// Queries before work.split meet nothing of the second shard. They have tiles of their own.
template <class Tile, bool kIsDiagonal>
__device__ __forceinline__ FusedTile locate(const attention::TileOrder& order,
                                            const FusedWork& work, int tile_of_queries) {
  int head, q_tile;
  order.locate<true>(tile_of_queries, head, q_tile);  // the longest ones first
  const int before = kit::divide_up(work.split, Tile::kTileM);
  const bool is_before = q_tile < before;
  const int first_query =
      is_before ? q_tile * Tile::kTileM : work.split + (q_tile - before) * Tile::kTileM;
  const attention::Mask<kIsDiagonal, Tile::kTileN> mask{work.queries, work.keys};
  return {head, first_query, is_before ? work.split : work.queries,
          mask.tiles(first_query, Tile::kTileM),
          is_before ? 0 : kit::divide_up(work.second_keys, Tile::kTileN)};
}
// endregion

// Keys and values of a shard, `rows` rows in each head.
template <class T>
struct KeysAndValues {
  const T *k, *v;
  int rows;
};

// region fused_steps
// As for_each_step, but the first two steps are one call of compute(rank, step, 2, shards,
// arrivals, stream), and so are the last two. shards: those of both steps; the second one comes
// meanwhile. Kernels are asked for before copies, which need not be here when they begin.
template <class T, class Compute>
void for_each_fused_step(const Team<T>& team, Compute compute) {
  const int size = team.size();
  unsigned& number = *team.last_number;  // of the shard that comes in pieces
  const std::int64_t head_bytes = std::int64_t{2} * team.sharding.most_rows() * team.d * sizeof(T);
  const auto pieces = Pieces::of(team.heads, head_bytes, team.first_piece);
  const auto arrivals = [&](int rank) {
    return Arrivals{team.shards[rank].arrivals, number, pieces};
  };
  // Heads first to last of the shard at hand go on to the next rank: keys and values in one copy,
  // unless they lie too far apart for that.
  const auto send = [&](int rank, int step, int first, int last) {
    const std::int64_t of_head = team.keys(team.sharding.owner(rank, step)) / team.heads;
    if (of_head == 0) return;
    const T* const from = shard_at_hand(team, rank, step) + first * of_head;
    T* const to = team.inbox(team.next(rank), step % 2) + first * of_head;
    const std::int64_t apart = team.heads * of_head, bytes = (last - first) * of_head * sizeof(T);
    const cudaStream_t stream = team.copies.streams[rank];
    if (apart * sizeof(T) <= INT32_MAX) {
      CUDA_CHECK(cudaMemcpy2DAsync(to, apart * sizeof(T), from, apart * sizeof(T), bytes, 2,
                                   cudaMemcpyDefault, stream));
    } else {
      CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
      CUDA_CHECK(cudaMemcpyAsync(to + apart, from + apart, bytes, cudaMemcpyDefault, stream));
    }
  };
  const auto send_all = [&](int step) {
    for_each_rank(team.copies, [&](int rank, cudaStream_t) { send(rank, step, 0, team.heads); });
  };
  const auto send_in_pieces = [&](int step) {
    for (int piece = 0; piece < pieces.count(); ++piece) {
      for_each_rank(team.copies, [&](int rank, cudaStream_t stream) {
        send(rank, step, pieces.first_head(piece), pieces.first_head(piece + 1));
        set_flag(&team.shards[team.next(rank)].arrivals[piece], number, stream);
      });
    }
  };
  record(team.devices);  // what was asked of them before may still use the inbox

  for (int step = 0, count; step < size; step += count) {
    count = steps_at_once(step, size);
    const bool is_last = step + count == size;
    ++number;
    for_each_rank(team.devices, [&](int rank, cudaStream_t stream) {
      const auto shard = [&](int of_step, const T* keys) -> KeysAndValues<T> {
        const int owner = team.sharding.owner(rank, of_step);
        return {keys, keys + team.keys(owner), team.sharding.rows(owner)};
      };
      const KeysAndValues<T> shards[2] = {shard(step, shard_at_hand(team, rank, step)),
                                          shard(step + 1, team.inbox(rank, step % 2))};
      compute(rank, step, count, shards, arrivals(rank), stream);
    });
    for (int rank = 0; rank < size && step == 0; ++rank) {
      wait(team.copies.streams[rank], team.devices, rank);
      wait(team.copies.streams[rank], team.devices, team.next(rank));
    }

    if (count == 2) {
      send_in_pieces(step);
    } else if (!is_last) {
      send_all(step);
    }
    if (count == 2 && !is_last) {
      // What has come in pieces goes on to the next rank, whose other slot is free.
      record(team.copies);
      for (int rank = 0; rank < size; ++rank) {
        wait(team.copies.streams[team.next(rank)], team.copies, rank);
      }
      send_all(step + 1);
    }
    if (!is_last) wait_between_steps(team);
  }
  wait_for_copies(team);
}
// endregion

}  // namespace ring_attention
