// one_shot_push: each device stores its array into the memory of all others, then tells them.
//
// A store needs no answer, so the sender goes on at once, and what is read afterwards lies in the
// reader's own memory. One flag for each block and peer says that a piece is there. The inbox has
// two halves in turn: who has everybody's flag for one piece knows that all have read the piece
// before, so that one wait a piece is enough. What is still wrong: the flag goes behind the data,
// and the release waits for an answer that those have arrived: two trips more than needed.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "05_reduction/all_reduce/kit/team.cuh"
#include "05_reduction/all_reduce/kit/vector.cuh"
#include "common/kit/check.cuh"
#include "common/kit/meet.cuh"

namespace all_reduce {

template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    one_shot_push_kernel(Peers<T> peers, int rank, std::int64_t n) {
  unsigned* const kept = peers.epochs[rank] + blockIdx.x;
  unsigned epoch = *kept;
  const std::int64_t vectors = vectors_of<T>(n);
  const std::int64_t mine = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t grid = std::int64_t{gridDim.x} * kThreads;
  // Where sender `from` puts vector v of a piece, in the inbox of any rank.
  const auto slot = [&](int from, std::int64_t v) {
    return (epoch % 2 * peers.size + from) * peers.inbox_vectors + v;
  };

  for (std::int64_t first = 0; first < vectors; first += peers.inbox_vectors) {
    // One piece of the message, as much as the inbox holds: off to everybody.
    ++epoch;
    const std::int64_t count = min(peers.inbox_vectors, vectors - first);
    for (std::int64_t v = mine; v < count; v += grid) {
      const Vector<T> own = load(peers.x[rank], first + v, n);
      for (int r = 0; r < peers.size; ++r) {
        if (r != rank) peers.inbox[r][slot(rank, v)] = own;
      }
    }
    meet(peers, rank, epoch);

    // What has come in stands beside the own vectors, and is added in the order of the ranks.
    for (std::int64_t v = mine; v < count; v += grid) {
      Sum<T> sum;
      for (int r = 0; r < peers.size; ++r) {
        sum.add(r == rank ? load(peers.x[rank], first + v, n) : peers.inbox[rank][slot(r, v)]);
      }
      store(peers.y[rank], first + v, n, sum.rounded());
    }
  }
  if (threadIdx.x == 0) *kept = epoch;
}

// y of every rank = the sum of all x, in the order of the ranks. In the streams of the team.
template <class T>
void all_reduce_one_shot_push(const Team<T>& team, std::int64_t n) {
  if (n == 0) return;
  const std::int64_t piece = std::min(vectors_of<T>(n), team.peers.inbox_vectors);
  for_each_rank(team, [&](int rank, cudaStream_t stream) {
    one_shot_push_kernel<T><<<team.blocks_for(piece), kThreads, 0, stream>>>(team.peers, rank, n);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace all_reduce
