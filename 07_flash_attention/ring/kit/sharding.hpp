// Which tokens of a sequence a device owns, and what it has to do in a step of the ring: plain
// numbers, no CUDA.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ring_attention {

// What rank `rank` computes in one step: of its own queries those from `first_query` on, `queries`
// of them, with the first `keys` keys of the shard at hand. In a shard tokens stand in the order of
// the sequence, so what a query sees of any shard is always its first keys.
struct Work {
  int first_query = 0, queries = 0, keys = 0;
  bool is_diagonal = false;  // query i sees keys 0 to i only: the own shard under a causal mask
  int complete = 0;          // so many of these queries, the first ones, see no key after this step

  bool any() const { return queries > 0 && (keys > 0 || complete > 0); }
  // Pairs of a query and a key that it sees: what the step costs.
  std::int64_t pairs() const {
    const std::int64_t q = queries, k = keys;
    return is_diagonal ? q * (q + 1) / 2 : q * k;
  }
};

// n tokens for `size` ranks. Contiguous: rank r owns chunk r of `size` chunks. Zigzag: chunks r and
// 2 size - 1 - r of 2 size. A chunk has the same number of tokens as all others; only the last ones
// may have fewer, or none.
struct Sharding {
  std::int64_t n;
  int size;
  bool is_zigzag, is_causal;

  int chunk_rows() const {
    const int chunks = is_zigzag ? 2 * size : size;
    return static_cast<int>((n + chunks - 1) / chunks);
  }
  std::int64_t first_token(int chunk) const {
    return std::min(n, std::int64_t{chunk} * chunk_rows());
  }
  int rows_of_chunk(int chunk) const {
    return static_cast<int>(first_token(chunk + 1) - first_token(chunk));
  }
  // Of a rank's two chunks, the one that comes later in the sequence.
  int late_chunk(int rank) const { return 2 * size - 1 - rank; }

  // Tokens that a rank owns, and how many the largest shard has.
  int rows(int rank) const {
    return rows_of_chunk(rank) + (is_zigzag ? rows_of_chunk(late_chunk(rank)) : 0);
  }
  int most_rows() const { return (is_zigzag ? 2 : 1) * chunk_rows(); }
  // Where in the sequence row `row` of a rank's shard is.
  std::int64_t token(int rank, int row) const {
    const int early = rows_of_chunk(rank);
    return row < early ? first_token(rank) + row : first_token(late_chunk(rank)) + row - early;
  }

  // Whose keys and values are at hand in a step: they come from the rank before.
  int owner(int rank, int step) const { return (rank - step + size) % size; }

  // region work
  Work work(int rank, int step) const {
    const int own = rows(rank), from = owner(rank, step), keys = rows(from);
    const bool is_last = step == size - 1;
    if (!is_causal) return {0, own, keys, false, is_last ? own : 0};

    if (!is_zigzag) {
      // Keys of a later rank come after all queries. Those of rank 0 are the last that are seen.
      if (from > rank) return {};
      return {0, own, keys, from == rank, from == 0 ? own : 0};
    }

    const int early = rows_of_chunk(rank);
    // The early chunk sees nothing of a later rank; the late one comes after both of its chunks.
    if (from > rank) return {early, own - early, keys, false, is_last ? own - early : 0};
    const int complete = is_last ? own : from == 0 ? early : 0;
    if (from == rank) return {0, own, own, true, complete};
    // All queries come after the early chunk of an earlier rank, and before its late one.
    return {0, own, rows_of_chunk(from), false, complete};
  }
  // endregion
};

}  // namespace ring_attention
