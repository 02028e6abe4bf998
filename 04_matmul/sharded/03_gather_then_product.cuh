// gather_then_product: first every device gets all rows of A, then it multiplies.
//
// The all-gather is copies from device to device. The copy engine does them, so no SM is needed.
// Each rank begins with another receiver: at any time each link has one copy to carry. What is
// still wrong: the SMs wait while the copies run, and the links wait while the SMs multiply.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/sharded/kit/shards.hpp"
#include "04_matmul/sharded/kit/team.cuh"
#include "common/kit/devices.cuh"

namespace matmul::sharded {

// C of every rank = all of A times its B'. In the streams of the team.
inline void gather_gemm_gather_then_product(const Team& team, const GatherProduct& p) {
  const kit::Devices& devices = team.devices;
  team.start_copies();
  for (int rank = 0; rank < team.size(); ++rank) {
    const std::int64_t at = p.rows.first(rank) * p.k, count = p.rows.size(rank) * p.k;
    for (int step = 1; step < team.size(); ++step) {
      const int to = (rank + team.size() - step) % team.size();
      push(p.whole_a[to] + at, p.a[rank], count, team.copies.streams[rank]);
    }
    push(p.whole_a[rank] + at, p.a[rank], count, devices.streams[rank]);
  }
  for (int rank = 0; rank < team.size(); ++rank) {
    for (int other = 0; other < team.size(); ++other) team.wait_for_copies(rank, other);
  }
  kit::for_each_rank(devices, [&](int rank, cudaStream_t stream) {
    team.multiply(rank, p.whole_a[rank], p.b[rank], p.c[rank], p.m, p.columns.size(rank), p.k,
                  stream);
  });
}

}  // namespace matmul::sharded
