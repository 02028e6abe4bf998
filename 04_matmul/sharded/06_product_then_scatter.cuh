// product_then_scatter: every device multiplies its part of k, then all exchange what they have.
//
// Each product is one addend of all of C. Of its rows, a rank sends to each owner what is
// the owner's: a copy into a slot there. The owner adds its slots in the order of the ranks, in
// fp32, and rounds once, so all runs have the same bits. What is still wrong: the links wait for
// the SMs, then the SMs for the links; and the addends go through memory three times.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/sharded/kit/add_slots.cuh"
#include "04_matmul/sharded/kit/team.cuh"
#include "common/kit/devices.cuh"

namespace matmul::sharded {

// C of every rank = its rows of the sum of all products. In the streams of the team.
inline void gemm_scatter_product_then_scatter(const Team& team, const ProductScatter& p) {
  const kit::Devices& devices = team.devices;
  team.start_copies();
  kit::for_each_rank(devices, [&](int rank, cudaStream_t stream) {
    team.multiply(rank, p.a[rank], p.b[rank], p.addend[rank], p.m, p.n, p.ks.size(rank), stream);
  });
  for (int rank = 0; rank < team.size(); ++rank) {
    team.copy_after_product(rank);
    for (int step = 1; step < team.size(); ++step) {
      const int to = (rank + step) % team.size();
      push(p.slot(to, rank), p.addend[rank] + p.rows.first(to) * p.n, p.rows.size(to) * p.n,
           team.copies.streams[rank]);
    }
    push(p.slot(rank, rank), p.addend[rank] + p.rows.first(rank) * p.n, p.rows.size(rank) * p.n,
         devices.streams[rank]);
  }
  for (int rank = 0; rank < team.size(); ++rank) {
    for (int other = 0; other < team.size(); ++other) team.wait_for_copies(rank, other);
  }
  add_slots(team, p);
}

}  // namespace matmul::sharded
