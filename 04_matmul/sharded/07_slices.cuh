// slices: the rows of the others are multiplied first, and leave under the products that follow.
//
// The product goes slice by slice: the rows of the next rank in chunks, those of the one after it,
// the own last. What is done goes to its owner by the copy engine, in a second stream. The own
// rows stay where they are. What is still wrong: each slice is a launch with few tiles, whose last
// wave leaves SMs idle; and the owner reads all addends once more to add them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/sharded/kit/add_slots.cuh"
#include "04_matmul/sharded/kit/shards.hpp"
#include "04_matmul/sharded/kit/team.cuh"
#include "common/kit/check.cuh"
#include "common/kit/devices.cuh"

namespace matmul::sharded {

// C of every rank = its rows of the sum of all products. In the streams of the team.
inline void gemm_scatter_slices(const Team& team, const ProductScatter& p) {
  team.start_copies();
  // Rows `first` .. of the product of this rank.
  const auto multiply = [&](int rank, std::int64_t first, std::int64_t rows, Element* to) {
    const std::int64_t k = p.ks.size(rank);
    CUDA_CHECK(cudaSetDevice(rank));
    team.multiply(rank, p.a[rank] + first * k, p.b[rank], to, rows, p.n, k,
                  team.devices.streams[rank]);
  };
  for (int step = 1; step < team.size(); ++step) {
    for (int chunk = 0; chunk < kMostChunks; ++chunk) {
      for (int rank = 0; rank < team.size(); ++rank) {
        const int to = (rank + step) % team.size();
        const Chunks chunks = {p.rows.size(to), team.size()};
        if (chunk >= chunks.count()) continue;
        const std::int64_t rows = chunks.size(chunk),
                           first = p.rows.first(to) + chunks.first(chunk);
        Element* const addend = p.addend[rank] + first * p.n;
        multiply(rank, first, rows, addend);
        team.copy_after_product(rank);
        push(p.slot(to, rank) + chunks.first(chunk) * p.n, addend, rows * p.n,
             team.copies.streams[rank]);
      }
    }
  }
  for (int rank = 0; rank < team.size(); ++rank) {
    multiply(rank, p.rows.first(rank), p.rows.size(rank), p.slot(rank, rank));
  }
  for (int rank = 0; rank < team.size(); ++rank) {
    for (int other = 0; other < team.size(); ++other) team.wait_for_copies(rank, other);
  }
  add_slots(team, p);
}

}  // namespace matmul::sharded
