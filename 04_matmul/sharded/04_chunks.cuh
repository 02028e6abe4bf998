// chunks: each device multiplies its own rows first, while the others' come chunk by chunk.
//
// The copies have a stream of their own. Behind each chunk goes an event, and the product of its
// rows waits for no more than that: the links and the SMs work at the same time. All ranks push to
// the one before them first, so rank r gets the rows of r + 1, then those of r + 2, and so on. What
// is still wrong: a chunk's product is a launch with few tiles, whose last wave leaves SMs idle.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/sharded/kit/shards.hpp"
#include "04_matmul/sharded/kit/team.cuh"
#include "common/kit/check.cuh"

namespace matmul::sharded {

// C of every rank = all of A times its B'. In the streams of the team.
inline void gather_gemm_chunks(const Team& team, const GatherProduct& p) {
  team.start_copies();
  // Rows `first` .. of A, which `from` points at, times the B of this rank.
  const auto multiply = [&](int rank, const Element* from, std::int64_t first, std::int64_t rows) {
    const std::int64_t n = p.columns.size(rank);
    CUDA_CHECK(cudaSetDevice(rank));
    team.multiply(rank, from, p.b[rank], p.c[rank] + first * n, rows, n, p.k,
                  team.devices.streams[rank]);
  };
  for (int rank = 0; rank < team.size(); ++rank) {
    multiply(rank, p.a[rank], p.rows.first(rank), p.rows.size(rank));
  }

  for (int step = 1; step < team.size(); ++step) {
    for (int chunk = 0; chunk < kMostChunks; ++chunk) {
      for (int rank = 0; rank < team.size(); ++rank) {
        const Chunks chunks = {p.rows.size(rank), team.size()};
        if (chunk >= chunks.count()) continue;
        const int to = (rank + team.size() - step) % team.size();
        const std::int64_t first = p.rows.first(rank) + chunks.first(chunk);
        const std::int64_t rows = chunks.size(chunk);
        Element* const there = p.whole_a[to] + first * p.k;
        push(there, p.a[rank] + chunks.first(chunk) * p.k, rows * p.k, team.copies.streams[rank]);
        team.wait_for_copies(to, rank);
        multiply(to, there, first, rows);
      }
    }
  }
  // The own rows may change only when the others have them.
  for (int rank = 0; rank < team.size(); ++rank) team.wait_for_copies(rank, rank);
  CUDA_CHECK(cudaSetDevice(0));
}

}  // namespace matmul::sharded
