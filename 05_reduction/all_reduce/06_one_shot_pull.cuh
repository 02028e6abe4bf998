// one_shot_pull: one kernel on each device reads the arrays of all others and adds.
//
// A kernel follows a pointer into another device's memory as any pointer; the link carries what it
// loads. There is one step instead of 2 (size - 1), and nothing is stored on the way. Two things
// must be waited for: nobody may read x before the peer's stream has come to this call, and nobody
// may go on, and perhaps change x, before all have read it. What is still wrong: a load over the
// link takes a round trip, about a microsecond, and whoever waits for it has nothing else to do.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/all_reduce/kit/team.cuh"
#include "05_reduction/all_reduce/kit/vector.cuh"
#include "common/kit/check.cuh"
#include "common/kit/meet.cuh"

namespace all_reduce {

template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    one_shot_pull_kernel(Peers<T> peers, int rank, std::int64_t n) {
  unsigned* const kept = peers.epochs[rank] + blockIdx.x;
  const unsigned epoch = *kept;
  meet(peers, rank, epoch + 1);

  const std::int64_t grid = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t v = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; v < vectors_of<T>(n);
       v += grid) {
    Sum<T> sum;
    for (int r = 0; r < peers.size; ++r) sum.add(load(peers.x[r], v, n));
    store(peers.y[rank], v, n, sum.rounded());
  }

  meet(peers, rank, epoch + 2);
  if (threadIdx.x == 0) *kept = epoch + 2;
}

// y of every rank = the sum of all x, in the order of the ranks. In the streams of the team.
template <class T>
void all_reduce_one_shot_pull(const Team<T>& team, std::int64_t n) {
  if (n == 0) return;
  for_each_rank(team, [&](int rank, cudaStream_t stream) {
    one_shot_pull_kernel<T>
        <<<team.blocks_for(vectors_of<T>(n)), kThreads, 0, stream>>>(team.peers, rank, n);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace all_reduce
