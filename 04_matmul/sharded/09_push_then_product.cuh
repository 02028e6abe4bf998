// push_then_product: one kernel of each device stores its rows of A into the memory of all others.
//
// Copies need events before and after them, and the engine some microseconds to begin: with few
// rows that is more than the copies take. Here the blocks tell each other themselves, by flags: one
// launch gathers, one multiplies. Each block meets those of its number on the other devices twice,
// before it stores, since a product may still read what the call before has gathered, and when all
// have stored. What is still wrong: SMs and links take turns, as in gather_then_product.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/sharded/kit/pieces.cuh"
#include "04_matmul/sharded/kit/team.cuh"
#include "common/kit/check.cuh"
#include "common/kit/devices.cuh"
#include "common/kit/meet.cuh"

namespace matmul::sharded {

// The rows of one rank, in pieces, and where they belong in the gathered A of each.
template <int kSize>
struct RowsToAll {
  const Piece<kSize>* from;
  Piece<kSize>* to[kMostDevices];
  std::int64_t count;
};

template <int kSize>
__global__ void __launch_bounds__(kPushThreads, kPushBlocksPerSm)
    push_rows_kernel(const __grid_constant__ Peers peers, int rank,
                     const __grid_constant__ RowsToAll<kSize> rows) {
  unsigned* const kept = peers.epochs[rank] + blockIdx.x;
  const unsigned epoch = *kept;
  kit::meet(peers, rank, epoch + 1);  // all have come to this call: their A may be written

  const std::int64_t grid = std::int64_t{gridDim.x} * kPushThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kPushThreads + threadIdx.x; i < rows.count;
       i += grid) {
    const Piece<kSize> piece = rows.from[i];
    for (int step = 0; step < peers.size; ++step) {
      rows.to[(rank + step) % peers.size][i] = piece;  // not all to the same at once
    }
  }

  kit::meet(peers, rank, epoch + 2);  // the rows of all have come
  if (threadIdx.x == 0) *kept = epoch + 2;
}

// C of every rank = all of A times its B'. In the streams of the team.
inline void gather_gemm_push_then_product(const Team& team, const GatherProduct& p) {
  with_pieces_of(p.k, [&](auto size) {
    constexpr int kSize = decltype(size)::value;
    const int blocks = push_blocks(team, p.rows, p.k / kSize);
    kit::for_each_rank(team.devices, [&](int rank, cudaStream_t stream) {
      RowsToAll<kSize> rows = {pieces<kSize>(p.a[rank]), {}, p.rows.size(rank) * p.k / kSize};
      for (int to = 0; to < team.size(); ++to) {
        rows.to[to] = pieces<kSize>(p.whole_a[to] + p.rows.first(rank) * p.k);
      }
      push_rows_kernel<<<blocks, kPushThreads, 0, stream>>>(team.peers, rank, rows);
      CUDA_CHECK(cudaGetLastError());
    });
  });
  kit::for_each_rank(team.devices, [&](int rank, cudaStream_t stream) {
    team.multiply(rank, p.whole_a[rank], p.b[rank], p.c[rank], p.m, p.columns.size(rank), p.k,
                  stream);
  });
}

}  // namespace matmul::sharded
